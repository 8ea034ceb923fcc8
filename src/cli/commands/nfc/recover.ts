import { uidOnWire } from '../../../nfc/uid.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes } from '../../errors.ts'
import { printResult, runOnChip } from '../../nfc/one-chip.ts'
import { readerOption } from '../../nfc/readers.ts'
import { bothForms, isSameUid, readUid } from '../../uid.ts'

export const recover = defineCommand({
  name: 'recover',
  summary: 'Finish the setup or reset of a chip that was lifted too early',
  description:
    'Finish what was started on a chip that was lifted too early: the daemon has recorded ' +
    'which keys it may have, and none is guessed. --list shows unfinished chips. ' +
    '--give-up is for a chip that is lost or dead, whose keys prevent the removal of their key set; it needs a token with the ' +
    'scope keys. ' +
    '--timeout says how long to wait for the chip (default: 30 seconds).',
  examples: [
    'nfc recover',
    'nfc recover --list',
    'nfc recover --give-up 04:98:93:CA:AA:11:90',
    'nfc recover --json | jq -r .status',
  ],
  options: {
    list: flag('--list', 'List unfinished chips, and touch none'),
    giveUp: text('--give-up <uid>', 'Forget the plan of a chip that will not come back'),
    yes,
    reader: readerOption,
  },
  run: async (ctx, { options }) => {
    if (options.list) return listOpen(ctx)
    if (options.giveUp !== undefined) return giveUp(ctx, readUid(options.giveUp), options.yes)
    const result = await runOnChip(ctx, { reader: options.reader }, { purpose: 'recover' })
    const isShown = result.status === 'provisioned' && !ctx.io.json
    return printResult(ctx, result, isShown ? await labelOf(ctx, result.uid) : undefined)
  },
})

/** So that a person knows which sticker it gets. A token of scope provision alone may not read it. */
const labelOf = async (ctx: CliContext, uid: string | null): Promise<string | undefined> => {
  if (uid === null) return undefined
  const params = { uid: uidOnWire(uid) }
  const chip = await ctx.call('GET /admin/chips/:uid', { params }).catch(() => undefined)
  return chip?.label ?? undefined
}

const giveUp = async (ctx: CliContext, uid: string, isSure: boolean) => {
  await ctx.prompts.confirmByName(
    isSure,
    `Give up the chip ${bothForms(uid)}? The daemon forgets which keys it may have: if it comes back, it can no longer be ` +
      'set up or reset.',
    { what: 'its UID', is: (typed) => isSameUid(typed, uid) },
  )
  await ctx.call('DELETE /admin/nfc/journal/:uid', { params: { uid: uidOnWire(uid) } })
  await ctx.io.line({ uid, status: 'given-up' }, () => `${bothForms(uid)}  given up`)
  return exitCodes.done
}

const listOpen = async (ctx: CliContext) => {
  const plans = await ctx.call('GET /admin/nfc/journal')
  await ctx.io.list(
    plans,
    {
      UID: ({ uid }) => bothForms(uid),
      WHAT: ({ purpose }) => purpose,
      'KEY SET': ({ target }) => (target === 'factory' ? '-' : target.keySet),
      SINCE: ({ openedAt }) => openedAt,
      BY: ({ openedBy }) => openedBy,
      PROBLEM: ({ problem }) => problem,
    },
    'There are no unfinished chips.',
  )
  return exitCodes.done
}
