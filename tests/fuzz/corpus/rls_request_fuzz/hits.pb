
shop

tenantacme