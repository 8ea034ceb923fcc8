import { BatchApi } from '../../batch/batch-api.ts'
import { shownBox } from '../../batch/boxes.ts'
import { listOldJournals } from '../../batch/old-journals.ts'
import type { Batch } from '../../batch/sheet-kind.ts'
import { hostName } from '../../batch/submit.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, exitCodes } from '../../errors.ts'
import { formatNumber } from '../../io/text.ts'
import { damageOf, listBoxes } from '../../nfc/saved-box.ts'
import { type ShownBatch, shownBatch } from './find.ts'

/** The daemon's maximum page size. */
const maxListed = 1000

export const list = defineCommand({
  name: 'list',
  summary: 'List open batches, and those that were started on this machine, newest first',
  options: { all: flag('--all', 'Also list ended batches that were started on other machines') },
  examples: [
    'batch list',
    'batch list --all',
    'batch list --json | jq -r \'.[] | select(.state == "paused") | .id\'',
  ],
  run: async (ctx, { options }) => {
    const batches: readonly ShownBatch[] = (await daemonBatches(ctx, options.all)).map(shownBatch)
    const problems: CliError[] = []
    const boxes = listBoxes(ctx.system, (problem) => problems.push(problem))
    for (const box of boxes) if (box.damaged.length > 0) problems.push(new CliError(damageOf(box)))
    const all = [...batches, ...boxes.map(shownBox)].toSorted((a, b) =>
      String(b.createdAt).localeCompare(String(a.createdAt)),
    )
    await ctx.io.list(
      all,
      {
        ID: (batch) => batch.id,
        NAME: (batch) => batch.name,
        KIND: (batch) => batch.kind,
        STATE: (batch) => batch.state,
        HOST: (batch) => batch.host,
        BY: (batch) => batch.startedBy,
        CREATED: (batch) => batch.createdAt,
        DONE: (batch) => batch.done,
        FAILED: (batch) => (batch.failed ?? 0) + (batch.conflict ?? 0),
        TOTAL: (batch) => batch.total,
      },
      options.all
        ? 'No batches yet. Start one: tapchip chips edit --file FILE'
        : 'No open batches, and none that were started here. List all: tapchip batch list --all',
    )
    for (const { message } of problems) ctx.io.warn(message)
    noteOld(ctx)
    return problems.length === 0 ? exitCodes.done : exitCodes.failed
  },
})

const namedOld = 5

const noteOld = (ctx: CliContext): void => {
  const old = listOldJournals(ctx.system)
  if (old.length === 0) return
  const named = old.slice(0, namedOld).map(({ id, kind }) => (kind === undefined ? id : `${id} (${kind})`))
  const more = old.length > namedOld ? ` and ${formatNumber(old.length - namedOld)} more` : ''
  ctx.io.note(
    `An earlier version of tapchip started ${named.join(', ')}${more} here. Finish them with that version; once they are done: tapchip batch remove ID`,
  )
}

const daemonBatches = async (ctx: CliContext, all: boolean) => {
  const { adminToken, apiKey } = ctx.config()
  const isAdmin = adminToken() !== undefined
  // Boxes here can be listed without a daemon.
  if (!all && !isAdmin && !apiKey) return []
  const api = await BatchApi.of(ctx, isAdmin)
  const found = await api.list({ limit: maxListed }).catch((error: unknown) => {
    if (all) throw error
    return []
  })
  const host = hostName()
  return all ? found : found.filter((batch) => batch.host === host || !isEnded(batch))
}

/** Nothing more will happen to it, and nobody can change it. */
const isEnded = ({ state, until }: Batch): boolean =>
  state === 'cancelled' || state === 'undone' || (state === 'done' && until === null)
