import * as z from 'zod'
import { parseObject } from '../../../values/json.ts'
import type { Queries } from '../database/database.ts'
import { setting } from '../database/settings.ts'
import type { Row, Table } from './side.ts'

/** A setting that marks a database as an incomplete copy. No daemon starts on it. */
export const copyUnfinished = 'copyUnfinished'

const mark = z.object({
  /** The database that is copied. */
  instance: z.string(),
  /** The table whose rows are being copied; those before it are complete. */
  table: z.string(),
  /** The key of the last row that was copied; null: none of the table. */
  after: z.array(z.string().nullable()).nullable(),
})
export type CopyMark = Readonly<z.infer<typeof mark>>

export async function copyMark(db: Queries): Promise<CopyMark | undefined> {
  const text = await setting(db, copyUnfinished)
  return text === undefined ? undefined : mark.parse(parseObject(text))
}

/** Bookkeeping of the copy itself; never copied. */
export const isCopyMark = ({ name }: Table, row: Row): boolean =>
  name === 'settings' && row.includes(copyUnfinished)
