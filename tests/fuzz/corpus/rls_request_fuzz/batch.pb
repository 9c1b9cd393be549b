


tenantacme


tenantacme


tenantacme