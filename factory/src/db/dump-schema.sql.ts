import { type Kysely, sql } from "kysely";
import { SCHEMA } from "./session.sql.ts";
import type { Tables } from "./tables.ts";

interface Column {
  readonly table: string;
  readonly column: string;
  readonly definition: string;
}
interface Definition {
  readonly table: string;
  readonly definition: string;
}

/**
 * The schema as SQL a person can read, from the catalogue of a migrated base: what the migrations add up to.
 * The same text on every PostgreSQL from 15 on.
 */
export async function dumpSchema(db: Kysely<Tables>): Promise<string> {
  const [columns, constraints, indexes, views] = [
    await selectColumns(db),
    await selectConstraints(db),
    await selectIndexes(db),
    await selectViews(db),
  ];
  const blocks = [...new Set(columns.map(({ table }) => table))].map((table) => {
    const lines = [
      ...columns.filter((row) => row.table === table).map(({ column, definition }) => `  ${column} ${definition}`),
      ...constraints.filter((row) => row.table === table).map(({ definition }) => `  ${definition}`),
    ];
    const own = indexes.filter((row) => row.table === table).map(({ definition }) => `${definition};\n`);
    return `create table ${table} (\n${lines.join(",\n")}\n);\n${own.join("")}`;
  });
  const viewBlocks = views.map(({ table, definition }) => `create view ${table} as\n${definition}\n`);
  return [`-- Made by scripts/dump-schema.ts from a migrated base. Not run by anything: migrations/ is.\n`, ...blocks, ...viewBlocks].join(
    "\n",
  );
}

// The migrator's own tables are not ours to document.
const OURS = sql`n.nspname = ${SCHEMA} and c.relname not like 'kysely%'`;

async function selectColumns(db: Kysely<Tables>): Promise<readonly Column[]> {
  const { rows } = await sql<Column>`
    select c.relname as "table", a.attname as "column",
      format_type(a.atttypid, a.atttypmod)
        || case when a.attnotnull then ' not null' else '' end
        || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as definition
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where ${OURS} and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`.execute(db);
  return rows;
}

async function selectConstraints(db: Kysely<Tables>): Promise<readonly Definition[]> {
  // From PostgreSQL 18 on, not null is a constraint with a row of its own (contype n): it stands at the column already.
  const { rows } = await sql<Definition>`
    select c.relname as "table", 'constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid) as definition
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
    join pg_namespace n on n.oid = c.relnamespace
    where ${OURS} and k.contype <> 'n'
    order by c.relname, position(k.contype in 'pufcx'), k.conname`.execute(db);
  return rows;
}

async function selectIndexes(db: Kysely<Tables>): Promise<readonly Definition[]> {
  const { rows } = await sql<Definition>`
    select c.relname as "table", replace(pg_get_indexdef(i.indexrelid), ${`${SCHEMA}.`}, '') as definition
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    join pg_class x on x.oid = i.indexrelid
    join pg_namespace n on n.oid = c.relnamespace
    where ${OURS} and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
    order by c.relname, x.relname`.execute(db);
  return rows;
}

async function selectViews(db: Kysely<Tables>): Promise<readonly Definition[]> {
  const { rows } = await sql<Definition>`
    select c.relname as "table", replace(pg_get_viewdef(c.oid, true), ${`${SCHEMA}.`}, '') as definition
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where ${OURS} and c.relkind = 'v'
    order by c.relname`.execute(db);
  return rows;
}
