import { defineCommand } from '../../command/define.ts'
import { type OptionSpec, team } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { fields, findContract, readTwoTap, symbolArgument, twoTapFlags } from './contract.ts'

/** Commander sets such a flag to true until it is given. */
const oneTap: OptionSpec<boolean> = {
  flags: '--no-two-tap',
  description: 'One tap is enough from now on',
  read: (raw) => raw === false,
}

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set or clear the two-tap policy of a contract',
  examples: [
    'contracts edit JKT --two-tap-delay 60 --two-tap-window 3600',
    'contracts edit JKT --no-two-tap',
  ],
  args: symbolArgument,
  options: { ...twoTapFlags, oneTap, team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const twoTap = readTwoTap(options)
    if (options.oneTap === (twoTap !== undefined))
      throw new UsageError('Specify what to change: --two-tap-delay and --two-tap-window, or --no-two-tap.')
    const { id } = await findContract(ctx, args.symbol, options.team)
    const edited = await ctx.call('PATCH /admin/contracts/:id', {
      params: { id },
      body: { twoTap: twoTap ?? null },
    })
    await ctx.io.one(edited, fields)
    ctx.io.hint('It applies to every code from now on. See all contracts: tapchip contracts list')
  },
})
