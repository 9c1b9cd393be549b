-- From when on each plan is, or will be, the tenant's: [["1800000000000000","pro"]]. Empty: `plan`, since ever.
ALTER TABLE control_tenant ADD COLUMN plan_steps TEXT NOT NULL DEFAULT '';
