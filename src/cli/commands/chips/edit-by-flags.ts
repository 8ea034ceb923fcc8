import { checkRedirectUrl } from '../../../values/redirect-url.ts'
import { startBatch } from '../../batch/engine.ts'
import { describeEdit, type EditResult, edit, editAlike } from '../../batch/kinds/edit.ts'
import { chipsOf } from '../../chip-group.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { counted, grouped } from '../../io/text.ts'
import { readUid } from '../../uid.ts'

interface Given {
  readonly uid: string | undefined
  readonly chipGroup: string | undefined
  readonly redirectUrl: string | undefined
  readonly clear: boolean
  readonly yes: boolean
}

/** Edits one chip, or all of a group. */
export const editByFlags = async (ctx: CliContext, given: Given): Promise<ExitCode> => {
  const { uid, chipGroup } = given
  if (uid === undefined && chipGroup === undefined && !ctx.prompts.possible) {
    throw new UsageError('Say which chips: --file, --uid or --chip-group.')
  }
  if (uid !== undefined && chipGroup !== undefined) throw new UsageError('--uid or --chip-group: not both.')
  if (given.clear && given.redirectUrl !== undefined)
    throw new UsageError('--redirect-url or --clear: not both.')
  if (chipGroup !== undefined) return editWhole(ctx, chipGroup, given)
  return editOne(
    ctx,
    readUid(await ctx.prompts.text(uid, { flag: '--uid', message: 'UID of the chip' }), '--uid'),
    given,
  )
}

const redirectFrom = async (ctx: CliContext, given: Given): Promise<string | null> => {
  if (given.clear) return null
  const missing = { flag: '--redirect-url or --clear', message: 'Redirect URL' }
  const url = await ctx.prompts.text(given.redirectUrl, missing)
  const why = url === '' ? undefined : checkRedirectUrl(url)
  if (why !== undefined) throw new UsageError(`--redirect-url "${url}" ${why}. Nothing was written.`)
  return url || null
}

const editWhole = async (ctx: CliContext, name: string, given: Given): Promise<ExitCode> => {
  const redirectUrl = await redirectFrom(ctx, given)
  const chips = await chipsOf(ctx, name)
  await ctx.prompts.confirm(given.yes, `Edit ${counted(chips.length, 'chip')} of ${name}?`)
  const rows = chips.map(({ uid }, i) => ({ row: i + 1, uid, redirectUrl }))
  const check = new Map(
    chips.map(({ uid, redirectUrl: previous }, i): [number, EditResult] => {
      const status = previous === redirectUrl ? 'unchanged' : 'changed'
      return [i + 1, { row: i + 1, uid, status, previous }]
    }),
  )
  if (ctx.flags.dryRun) return showGroup(ctx, [...check.values()], redirectUrl)
  const input = { name: `chip group ${name}`, path: null, sha256: null }
  return (await startBatch(ctx, editAlike, { input, rows, check })).exitCode
}

const showGroup = async (
  ctx: CliContext,
  results: readonly EditResult[],
  redirectUrl: string | null,
): Promise<ExitCode> => {
  for (const result of results)
    await ctx.io.line({ ...result, redirectUrl }, () => describeEdit(result, redirectUrl))
  const changed = results.filter(({ status }) => status === 'changed').length
  ctx.io.note(
    `Dry run: ${counted(changed, 'chip')} of ${grouped(results.length)} would change. Nothing was written.`,
  )
  return exitCodes.done
}

const editOne = async (ctx: CliContext, uid: string, given: Given): Promise<ExitCode> => {
  const redirectUrl = await redirectFrom(ctx, given)
  const rows = [{ row: 1, uid, redirectUrl }]
  if (ctx.flags.dryRun) return edit.show(ctx, rows, await edit.check?.(ctx, rows))
  const input = { name: 'flags', path: null, sha256: null }
  const { exitCode, results } = await startBatch(ctx, edit, { input, rows })
  const result = results.get(1)
  if (result && result.status !== 'failed' && !ctx.io.json) {
    await ctx.io.line(result, () => describeEdit(result, redirectUrl).replace(/^row 1 {2}/, ''))
  }
  // One chip is no part of anything.
  return exitCode === exitCodes.partial ? exitCodes.failed : exitCode
}
