import { z } from "zod";
import type { Api } from "../http/api-client.ts";
import { toPrintable } from "./printable.ts";

/** A row as the API gives it; the command prints what is there. */
export const RowSchema = z.record(z.string(), z.unknown());
export type Row = z.infer<typeof RowSchema>;
const PageSchema = z.object({ items: z.array(RowSchema), next: z.string().nullable() });

const PAGE = 200;

/** Every row of a list, page by page. */
export async function fetchRows(api: Api, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  let after: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(PAGE), ...(after === null ? {} : { after }) });
    const page: z.infer<typeof PageSchema> = await api.get(`${path}?${query.toString()}`, PageSchema);
    rows.push(...page.items);
    after = page.next;
  } while (after !== null);
  return rows;
}

/** Rows as a table of these columns, or as one JSON document. */
export function printRows(rows: readonly Row[], { columns, json }: { columns: readonly string[]; json: boolean }): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ items: rows, next: null })}\n`);
    return;
  }
  const cells = [columns, ...rows.map((row) => columns.map((column) => toText(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  for (const line of cells)
    process.stdout.write(
      `${line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd()}\n`,
    );
}

/** One row, a field a line, or as one JSON document. */
export function printRow(row: Row, { json }: { json: boolean }): void {
  if (json) process.stdout.write(`${JSON.stringify(row)}\n`);
  else for (const [field, value] of Object.entries(row)) process.stdout.write(`${field}: ${toText(value)}\n`);
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? toPrintable(value) : JSON.stringify(value);
}
