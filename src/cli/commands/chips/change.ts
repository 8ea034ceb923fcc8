import { uidOnWire } from '../../../nfc/uid.ts'
import { runFlags, wantsBatch } from '../../batch/input/flags.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, flag, team, text, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { findGroup } from '../chip-groups.ts'
import { chipOnWire, chipUid } from '../chip-handle.ts'
import { chipParams, fieldsOfChip, printChip, uidArgument } from './chip.ts'
import { applyToChips, chipArguments, chooseChips, manyFlags, someFlags } from './many.ts'

export const disable = defineCommand({
  name: 'disable',
  summary: 'Disable lost or stolen chips, whose taps, refs and codes become invalid',
  examples: [
    'chips disable 04:98:93:CA:AA:11:90 --reason "stolen in transit"',
    'chips disable 1293660434600336 --yes',
    'chips disable --chip-group "Box 7" --reason "stolen in transit"',
    'chips disable --where item=jacket --where linked=false --dry-run',
  ],
  args: chipArguments,
  options: { reason: text('--reason <text>', 'Why, for the record'), ...manyFlags },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { reason, yes } = options
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    const [uid = ''] = chosen.uids
    if (!chosen.isNamed || wantsBatch(options))
      return applyToChips(
        ctx,
        chosen,
        { cells: { disabled: true } },
        {
          ...{ verb: 'disable', options, settings: { reason } },
          question: (chips) => `Disable ${chips} (${chosen.described})?`,
        },
      )
    await ctx.prompts.confirm(ctx.prompts.named(yes), `Disable chip ${chosen.handle}?`)
    const params = { uid: uidOnWire(uid) }
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/disable', { params, body: { reason } }))
    ctx.io.hint(`Undo it: tapchip chips enable ${shellQuoted(chosen.handle)}`)
    return undefined
  },
})

export const enable = defineCommand({
  name: 'enable',
  summary: 'Enable disabled chips again',
  examples: [
    'chips enable 04:98:93:CA:AA:11:90',
    'chips enable --where chipGroup="Box 7" --where disabled=true',
  ],
  args: chipArguments,
  options: manyFlags,
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    if (!chosen.isNamed || wantsBatch(options))
      return applyToChips(
        ctx,
        chosen,
        { cells: { disabled: false } },
        {
          ...{ verb: 'enable', options },
          question: (chips) => `Enable ${chips} (${chosen.described})?`,
        },
      )
    const [uid = ''] = chosen.uids
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/enable', { params: { uid: uidOnWire(uid) } }))
    ctx.io.hint(`See its taps: tapchip taps list --uid ${shellQuoted(chosen.handle)}`)
    return undefined
  },
})

export const move = defineCommand({
  name: 'move',
  summary: 'Move chips to another chip group',
  examples: [
    'chips move 04:98:93:CA:AA:11:90 --chip-group Returns',
    'chips move "Coat 7" "Coat 8" --chip-group Returns',
    'chips move --where chipGroup="Box 7" --where disabled=true --chip-group Returns --dry-run',
  ],
  args: chipArguments,
  options: {
    chipGroup: text('--chip-group <name|id>', 'The chip group that they are moved to', 'chip-group'),
    ...someFlags,
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { chipGroup, ...selection } = options
    if (chipGroup === undefined)
      throw new UsageError('--chip-group is missing: it says where the chips are moved.')
    const group = await findGroup(ctx, chipGroup, options.team)
    const chosen = await chooseChips(ctx, args.chips, selection)
    if (chosen === undefined) return
    return applyToChips(
      ctx,
      chosen,
      { cells: { chipGroup: group.name } },
      {
        ...{ verb: 'move', options },
        question: (chips) => `Move ${chips} (${chosen.described}) to ${group.name}?`,
        ...(chosen.isNamed && { ask: async () => undefined }),
      },
    )
  },
})

export const rename = defineCommand({
  name: 'rename',
  summary: 'Give a chip another label, or none',
  examples: [
    'chips rename 04:98:93:CA:AA:11:90 --label "Coat 7"',
    'chips rename "Coat 7" --label "Coat 7, repaired"',
    'chips rename "Coat 7" --clear',
  ],
  args: { chip: argument('chip', 'Its UID, in decimal or hex, or its label') },
  options: {
    label: text('--label <label>', 'The new label, unique within the team'),
    clear: flag('--clear', 'Remove the label'),
    ...runFlags,
    team,
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { label, clear } = options
    if (clear === (label !== undefined)) throw new UsageError('Specify its new label: --label or --clear.')
    if (label?.trim() === '') throw new UsageError('--label is empty.', 'To remove the label: --clear')
    const uid = await chipUid(ctx, args.chip)
    const chosen = { uids: [uid], described: args.chip, isNamed: true, handle: args.chip }
    return applyToChips(
      ctx,
      chosen,
      { cells: { label: label?.trim() ?? null } },
      {
        ...{ verb: 'rename', options: { ...options, yes: true } },
        ask: async () => undefined,
      },
    )
  },
})

export const replace = defineCommand({
  name: 'replace',
  summary: 'Move everything from a chip to another registered chip, and disable the first',
  examples: ['chips replace 04:98:93:CA:AA:11:90 --with 04:DE:5F:1E:AC:C0:40'],
  args: uidArgument,
  options: { with: text('--with <uid>', 'The chip that takes its place'), yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const params = await chipParams(ctx, args.uid)
    const replacement = await ctx.prompts.text(options.with, {
      flag: '--with',
      message: 'UID of the chip that takes its place',
    })
    const other = await chipOnWire(ctx, replacement, '--with')
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Replace chip ${args.uid} with ${replacement}, and disable it?`,
    )
    const replaced = await ctx.call('POST /admin/chips/:uid/replace', { params, body: { with: other } })
    await ctx.io.one(replaced, ({ status, ...chip }) => ({ Status: status, ...fieldsOfChip(chip) }))
    ctx.io.hint(`See the new chip: tapchip chips show ${replacement}`)
  },
})
