

tenantacme