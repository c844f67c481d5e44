-- What a tenant spends on a day stands in several rows, one for each of the connections that write it, as far as there are slots:
-- a row is locked until its transaction is durable, and with one row the reservations of a tenant would commit one after another.
alter table iam_usage add column slot integer not null default 0;
alter table iam_usage drop constraint iam_usage_pkey;
alter table iam_usage add primary key (tenant_id, day, slot);
