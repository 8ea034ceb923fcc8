import type { appliedColumns } from '../../../values/chip-row.ts'
import { isJsonObject } from '../../../values/json.ts'
import type { Client } from '../../client/types.ts'
import { clean, shown } from '../../io/text.ts'
import { bothForms, uidOnWire } from '../../uid.ts'
import { matchAnswers } from '../answers.ts'
import { isNumber, isStatus, isText, orAbsent, orNull, type Result, type Row, shape } from '../journal.ts'
import { requestsOf } from '../requests.ts'

export type Column = (typeof appliedColumns)[number]
export type Value = string | number | boolean | null
export type Values = { readonly [column in Column]?: Value }
export type Changes = { readonly [column in string]?: { readonly from: Value; readonly to: Value } }

/** `values` is what the chip gets; `previous` what the check found that it changes. */
export interface ApplyRow extends Row {
  readonly uid?: string | undefined
  /** Names the chip if there is no UID. */
  readonly byLabel?: string | undefined
  readonly team?: string | undefined
  readonly values: Values
  readonly publicKey?: string | undefined
  readonly lastCounter?: number | undefined
  readonly revision?: string | undefined
  /** The row is a conflict unless these are the current values. */
  readonly expected?: Values | undefined
  /** True: removes a chip that nothing has happened to. */
  readonly remove?: true | 'always' | undefined
  /** Why chips are disabled. */
  readonly reason?: string | undefined
  readonly planned?: string | undefined
  readonly previous?: Changes | undefined
}

export interface ApplyResult extends Result {
  readonly uid: string | null
  readonly changes?: Changes | undefined
}

export type ApplyPlan = ReadonlyMap<number, ApplyResult>

const isValue = (value: unknown): value is Value =>
  value === null || /string|number|boolean/.test(typeof value)
const isValues = (value: unknown): value is Values =>
  isJsonObject(value) && Object.values(value).every(isValue)
const isChanges = (value: unknown): value is Changes =>
  isJsonObject(value) &&
  Object.values(value).every((one) => isJsonObject(one) && isValue(one.from) && isValue(one.to))

export const isRow = shape<ApplyRow>({
  row: isNumber,
  uid: orAbsent(isText),
  byLabel: orAbsent(isText),
  team: orAbsent(isText),
  values: isValues,
  publicKey: orAbsent(isText),
  lastCounter: orAbsent(isNumber),
  revision: orAbsent(isText),
  expected: orAbsent(isValues),
  remove: orAbsent((value) => value === true || value === 'always'),
  reason: orAbsent(isText),
  planned: orAbsent(isText),
  previous: orAbsent(isChanges),
})

export const isResult = shape<ApplyResult>({
  row: isNumber,
  uid: orNull(isText),
  status: isStatus,
  changes: orAbsent(isChanges),
  error: orAbsent(isText),
})

const lineOf = ({
  uid,
  byLabel,
  values,
  publicKey,
  lastCounter,
  revision,
  expected,
  remove,
}: ApplyRow): string =>
  `${JSON.stringify({
    uid: uid === undefined ? undefined : uidOnWire(uid),
    ...values,
    ...(byLabel === undefined ? {} : { label: byLabel }),
    publicKey,
    lastCounter,
    revision,
    expected,
    remove,
  })}\n`

export async function* sendApplied(
  client: Client,
  rows: readonly ApplyRow[],
  dryRun: boolean,
): AsyncGenerator<ApplyResult> {
  for (const { rows: some, content } of requestsOf(rows, lineOf)) {
    const answers = client.stream('POST /admin/chips/apply', {
      query: { team: some.at(0)?.team, reason: some.at(0)?.reason, ...(dryRun ? { dryRun: true } : {}) },
      upload: { contentType: 'application/x-ndjson', content },
    })
    yield* matchAnswers(answers, some, ({ row }, { uid, status, changes, error }) => ({
      row,
      uid,
      status,
      changes,
      error,
    }))
  }
}

export const named = ({ uid, byLabel }: Pick<ApplyRow, 'uid' | 'byLabel'>, found?: string | null): string => {
  const known = found ?? uid
  return known === undefined ? `"${clean(byLabel ?? '')}"` : bothForms(known)
}

export const describeApplied = ({ row, uid, status, changes, error }: ApplyResult, of: ApplyRow): string => {
  const words = Object.entries(changes ?? {}).flatMap(([column, change]) =>
    change && status !== 'failed' ? [`${column} ${shown(change.from)} → ${shown(change.to)}`] : [],
  )
  return clean([`row ${row}  ${named(of, uid)}  ${status}`, ...words, ...(error ? [error] : [])].join('  '))
}

export const otherColumns = ['publicKey', 'lastCounter', 'revision'] as const
