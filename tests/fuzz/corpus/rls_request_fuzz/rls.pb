
shop

tenantacme