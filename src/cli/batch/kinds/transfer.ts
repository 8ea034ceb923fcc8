import { readRecipient } from '../../../values/recipient.ts'
import { UsageError } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'
import { addTokenAnswers, matchAnswers, rowMessage } from '../answers.ts'
import { isNumber, isStatus, isText, orAbsent, orNull, type Result, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'
import {
  asEther,
  describeTarget,
  isTarget,
  TokenColumns,
  targetOnWire,
  targetSheet,
  tokenColumns,
  tokenNeeded,
} from '../token.ts'
import { refuseUnpayable } from './chain-costs.ts'
import {
  checkTransfers,
  showCheck,
  type TransferCheck,
  type TransferRow,
  warnOfLimits,
} from './transfer-check.ts'

interface TransferResult extends Result {
  readonly initialTxHash?: string | undefined
}

/** The daemon keeps idempotency keys for thirty days. */
const keyDays = 29

export const transfer: RowKind<TransferRow, TransferResult, TransferCheck> = {
  name: 'phygitals transfer',
  sheet: {
    columns: [...tokenColumns, 'recipient'],
    ...tokenNeeded,
    required: ['recipient'],
    parse: (_, problems) => {
      const tokens = new TokenColumns(problems)
      return {
        row: (row, cells) => {
          const target = tokens.read(row, cells.slice(0, tokenColumns.length))
          const recipient = cells[tokenColumns.length]
          // The chain of a chip's token is the daemon's to check.
          const chainId = target && 'chainId' in target ? target.chainId : undefined
          const read = recipient ? readRecipient(recipient, chainId) : undefined
          const why = read && 'reason' in read ? read.reason : undefined
          if (!recipient) problems.add(row, 'recipient', 'is missing')
          if (why !== undefined) problems.add(row, 'recipient', `"${recipient}" ${why}`)
          return target && recipient && why === undefined ? { row, target, recipient } : undefined
        },
        finish: (accepted) => tokens.finish(accepted),
      }
    },
  },
  isRow: shape<TransferRow>({
    row: isNumber,
    target: isTarget,
    recipient: isText,
    owner: orAbsent(orNull(isText)),
  }),
  isResult: shape<TransferResult>({
    row: isNumber,
    status: isStatus,
    initialTxHash: orAbsent(isText),
    error: orAbsent(isText),
  }),
  check: checkTransfers,
  /** Wrong checksums, and tokens that two rows move. */
  addProblems: ({ rows }, problems) => addTokenAnswers(problems, rows.values(), 'moves the same token'),
  show: async (ctx, rows, check) => showCheck(ctx, rows, check ?? (await checkTransfers(ctx, rows))),
  approve: async (ctx, _, check, yes) => {
    warnOfLimits(ctx, check)
    refuseUnpayable(check.totals)
    const moving = [...check.rows.values()].filter(({ status }) => status === 'transfer' || status === 'mint')
    // A token that is already where it should be is not sent, so there is nothing to confirm.
    if (moving.length === 0) return
    const sum = check.totals.reduce((all, { cost, l1Fee }) => all + BigInt(cost) + BigInt(l1Fee ?? 0), 0n)
    const price = `This costs up to ${asEther(sum)} ether, and cannot be undone.`
    await ctx.prompts.confirm(yes, `Transfer ${counted(moving.length, 'token')}? ${price}`)
  },
  /** Names are sent as the addresses that the check resolved. */
  prepare: ({ row, target, recipient }, { rows: checked }) => {
    const { recipient: found, owner } = checked.get(row) ?? {}
    return { row, target, recipient: found ?? recipient, owner }
  },
  settle: ({ row }, { rows: checked }) =>
    checked.get(row)?.status === 'unchanged' ? { row, status: 'unchanged' } : undefined,
  /** Rows that were being sent when the process was killed are sent again under the same keys. */
  beforeResume: async (ctx, rows, { header, open, yes }) => {
    const check = await checkTransfers(ctx, rows)
    const days = (ctx.now().getTime() - Date.parse(header.startedAt)) / 86_400_000
    if (open > 0 && days > keyDays && !yes) {
      throw new UsageError(
        `Batch ${header.id} is ${Math.floor(days)} days old, and it is not known whether ${counted(open, 'row')} were sent: the daemon no longer remembers, and would transfer again.`,
        `To see where the tokens are now: tapchip batch resume ${header.id} --dry-run · To send those rows anyway: --yes`,
      )
    }
    warnOfLimits(ctx, check)
    refuseUnpayable(check.totals)
    return check
  },
  // Three requests keep the daemon busy; an interrupt waits for at most three hundred rows.
  requests: { rows: 100, atOnce: 3 },
  endpoint: 'POST /phygitals/transfer/batch',
  send: (client, rows, keyOf) => {
    const content = rows.map(
      ({ row, target, recipient }) =>
        `${JSON.stringify({ ...targetOnWire(target), recipient, idempotencyKey: keyOf(row) })}\n`,
    )
    const answers = client.stream('POST /phygitals/transfer/batch', {
      upload: { contentType: 'application/x-ndjson', content: [content.join('')] },
    })
    return matchAnswers(answers, rows, ({ row, target }, { status, initialTxHash, error, code }) => {
      const words = error === undefined ? undefined : rowMessage(error, target)
      // The same key tells what became of a row whose answer was lost.
      return code === 'chain_unavailable' || code === 'outcome_unknown' || code === 'store_unavailable'
        ? { row, retryReason: words ?? '' }
        : { row, status, initialTxHash, error: words }
    })
  },
  label: 'Transferring',
  countedStatuses: ['transferred', 'unchanged', 'failed'],
  next: (id) => `See all rows: tapchip batch report ${id}`,
  remark: (outcomes) => {
    const queued = [...outcomes].filter(({ status }) => status === 'queued').length
    if (queued === 0) return undefined
    const wait = counted(queued, 'transfer waits', 'transfers wait')
    return `${wait} for room on the chain, and will be sent automatically: tapchip transactions list`
  },
  describe: ({ status, initialTxHash, error }, { row, target, recipient, owner }) => {
    const owners = `${owner === undefined ? 'owner not known' : (owner ?? 'nobody')} → ${recipient}`
    const end = initialTxHash ?? error
    const words = [`row ${row}`, describeTarget(target), status, owners, ...(end === undefined ? [] : [end])]
    return clean(words.join('  '))
  },
  about: ({ target, recipient, owner }) => ({ ...target, recipient, previousOwner: owner }),
  pending: ({ target }) => `${describeTarget(target)}  `,
  sheetOf: (rows) => {
    const { heading, cells } = targetSheet(rows.map(({ target }) => target))
    return {
      heading: [...heading, 'recipient'],
      cells: ({ target, recipient }) => [...cells(target), recipient],
    }
  },
  undo: {
    refusal:
      'Transfers cannot be undone: the tokens belong to their new owners, who may have passed them on.',
    advice: (id) => `See who owned them before: tapchip batch report ${id}`,
  },
}
