import { checkRedirectUrl } from '../../../values/redirect-url.ts'
import { ApiError } from '../../client/errors.ts'
import type { Client } from '../../client/types.ts'
import { UsageError } from '../../errors.ts'
import { clean, counted, shown } from '../../io/text.ts'
import { bothForms, colons, uidOnWire } from '../../uid.ts'
import { checkWithDaemon, matchAnswers, showChanges } from '../answers.ts'
import { UidColumn } from '../input/uid-column.ts'
import { isNumber, isStatus, isText, orAbsent, orNull, type Result, type Row, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'
import { type RowsRequest, requestsOf } from '../requests.ts'

/** `previous` is the value before the batch, if it was seen. */
export interface EditRow extends Row {
  readonly uid: string
  readonly redirectUrl: string | null
  /** The row fails unless this is the current value. */
  readonly expected?: string | null | undefined
  readonly previous?: string | null | undefined
}

export interface EditResult extends Result {
  readonly uid: string
  readonly previous?: string | null | undefined
}

type Preview = ReadonlyMap<number, EditResult>

const lineOf = ({ uid, redirectUrl, expected }: EditRow): string =>
  `${JSON.stringify({ uid: uidOnWire(uid), redirectUrl, expected })}\n`

const sendEdits = (
  client: Client,
  { rows, content }: RowsRequest<EditRow>,
  dryRun: boolean,
): AsyncGenerator<EditResult> => {
  const answers = client.stream('POST /chips/batch', {
    query: dryRun ? { dryRun: 'true' } : {},
    upload: { contentType: 'application/x-ndjson', content },
  })
  return matchAnswers(answers, rows, (sent, { status, previous, error }) => {
    const { row, uid } = sent
    // A chip that already has the value that an undo restores is done, whatever happened in between.
    if (dryRun && isBack(sent, previous)) return { row, uid, status: 'unchanged', previous }
    return { row, uid, status, previous, error }
  })
}

const isBack = ({ redirectUrl, expected }: EditRow, previous: string | null | undefined): boolean =>
  expected !== undefined && previous === redirectUrl

export const describeEdit = (result: EditResult, redirectUrl: string | null | undefined): string => {
  const row = `row ${result.row}  ${bothForms(result.uid)}  ${result.status}`
  if (result.status === 'failed') return `${row}  ${clean(result.error ?? '')}`
  if (result.status === 'unchanged') return `${row}  ${shown(redirectUrl)}`
  return `${row}  ${shown(result.previous)} → ${shown(redirectUrl)}`
}

export const edit: RowKind<EditRow, EditResult, Preview> = {
  name: 'chips edit',
  sheet: {
    columns: ['uid', 'redirectUrl'],
    required: ['uid', 'redirectUrl'],
    parse: (_, problems) => {
      const uids = new UidColumn(problems)
      return {
        row: (row, [uidText, urlText]) => {
          if (!uidText) problems.add(row, 'uid', 'is missing')
          // An empty cell clears the URL; a JSON row without the member may be a mistake.
          if (urlText === undefined) problems.add(row, 'redirectUrl', 'is missing; to clear it: null')
          const why = urlText ? checkRedirectUrl(urlText) : undefined
          if (why !== undefined) problems.add(row, 'redirectUrl', `"${urlText}" ${why}`)
          const uid = uidText ? uids.read(row, uidText) : undefined
          return uid === undefined ? undefined : { row, uid, redirectUrl: urlText || null }
        },
        finish: (accepted) => uids.finish(accepted),
      }
    },
  },
  isRow: shape<EditRow>({
    row: isNumber,
    uid: isText,
    redirectUrl: orNull(isText),
    expected: orAbsent(orNull(isText)),
    previous: orAbsent(orNull(isText)),
  }),
  isResult: shape<EditResult>({
    row: isNumber,
    uid: isText,
    status: isStatus,
    previous: orAbsent(orNull(isText)),
    error: orAbsent(isText),
  }),
  /** If the daemon refuses the rows as a whole, so do we. */
  check: (ctx, rows) =>
    checkWithDaemon(ctx, 'written', async (signal) => {
      const client = await ctx.client()
      const results = new Map<number, EditResult>()
      for (const request of requestsOf(rows, lineOf)) {
        try {
          for await (const result of sendEdits(client, request, true)) {
            if (signal.aborted) return results
            results.set(result.row, result)
          }
        } catch (error) {
          if (!(error instanceof ApiError) || error.statusCode !== 400) throw error
          const first = request.rows.at(0)?.row ?? 1
          const counting = first === 1 ? '' : ` (counted from row ${first})`
          const nothing = error.message.startsWith('Nothing was done.') ? '' : '\nNothing was written.'
          throw new UsageError(`${error.message}${counting}${nothing}`)
        }
      }
      return results
    }),
  show: (ctx, rows, check) =>
    showChanges(
      ctx,
      rows.flatMap((row) => {
        const result = check?.get(row.row)
        if (result === undefined) return []
        const { redirectUrl } = row
        const line = { ...result, redirectUrl }
        return [{ status: result.status, line, forPeople: () => describeEdit(result, redirectUrl) }]
      }),
    ),
  prepare: (row, check) => {
    const seen = check.get(row.row)
    if (seen?.previous === undefined) return row
    const { previous } = seen
    return { ...row, expected: isBack(row, previous) ? undefined : row.expected, previous }
  },
  sent: ({ expected }, before) => (expected === before.expected ? before : { ...before, expected }),
  foreseen: ({ row }, check) => check.get(row),
  // Small enough that an interrupt takes effect within a moment, and more than one, so that the daemon works while
  // others are under way. A sheet has a chip once, so their order does not matter.
  requests: { rows: 10_000, atOnce: 2 },
  endpoint: 'POST /chips/batch',
  async *send(client, rows) {
    for (const request of requestsOf(rows, lineOf)) yield* sendEdits(client, request, false)
  },
  label: 'Editing',
  countedStatuses: ['changed', 'unchanged', 'failed'],
  next: (id, { changed }) => (changed > 0 ? `Undo it: tapchip batch undo ${id}` : ''),
  describe: (result, { redirectUrl }) => describeEdit(result, redirectUrl),
  about: ({ uid }) => ({ uid }),
  pending: ({ uid }) => `${bothForms(uid)}  `,
  sheetOf: () => ({
    heading: ['uid', 'redirectUrl'],
    cells: ({ uid, redirectUrl }) => [colons(uid), redirectUrl ?? ''],
  }),
  undo: {
    name: 'chips undo',
    question: (count) => `Restore ${counted(count, 'chip')}?`,
    nothing: 'The batch changed nothing.',
    row: ({ row, uid, redirectUrl, previous: seen }, result) => {
      const previous = result?.status === 'changed' ? result.previous : seen
      if (previous === undefined || previous === redirectUrl) return undefined
      return { row, uid, redirectUrl: previous, expected: redirectUrl }
    },
  },
}

/** The daemon takes twice as many. */
const chipsARequest = 50_000

/** Gives many chips the same URL in a few large requests. The previous values come from the list of chips. */
export const editAlike: typeof edit = {
  ...edit,
  requests: { rows: chipsARequest, atOnce: 1 },
  countedStatuses: ['changed', 'unchanged'],
  prepare: (row, check) => ({ ...row, previous: check.get(row.row)?.previous ?? null }),
  sent: (row) => row,
  settle: ({ row }, check) => {
    const seen = check.get(row)
    return seen?.status === 'unchanged' ? seen : undefined
  },
  endpoint: 'PATCH /chips',
  send: async function* (client, rows) {
    const [{ redirectUrl = null } = {}] = rows
    const tagUIDs = rows.map(({ uid }) => uidOnWire(uid))
    await client.call('PATCH /chips', { body: { tagUIDs, updates: { redirectUrl } } })
    for (const { row, uid, previous = null } of rows) yield { row, uid, status: 'changed', previous }
  },
}
