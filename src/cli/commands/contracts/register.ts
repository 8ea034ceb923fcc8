import { defineCommand } from '../../command/define.ts'
import { integer, team, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'

const year = 31_536_000

export const register = defineCommand({
  name: 'register',
  summary: 'Register a token contract that is deployed already',
  examples: [
    'contracts register --symbol JKT --name Jackets --chain-id 8453 --address 0x5FbDB2315678afecb367f032d93F642f64180aa3',
    'contracts register --symbol JKT --name Jackets --chain-id 8453 --address 0x… --two-tap-delay 60 --two-tap-window 3600',
  ],
  options: {
    symbol: text('--symbol <symbol>', 'Its symbol, unique in the team'),
    name: text('--name <name>', 'Its name'),
    chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
    address: text('--address <address>', 'Its address'),
    twoTapDelay: integer('--two-tap-delay <seconds>', 'Two-tap claim: how long after the first tap', [
      0,
      year,
    ]),
    twoTapWindow: integer('--two-tap-window <seconds>', 'Two-tap claim: how long it stays open then', [
      1,
      year,
    ]),
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const { twoTapDelay, twoTapWindow } = options
    if ((twoTapDelay === undefined) !== (twoTapWindow === undefined)) {
      throw new UsageError('Two-tap claim is --two-tap-delay and --two-tap-window together.')
    }
    const symbol = await ctx.prompts.text(options.symbol, { flag: '--symbol', message: 'Symbol' })
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'Name' })
    const chainId = await ctx.prompts.text(options.chainId?.toString(), {
      flag: '--chain-id',
      message: 'Chain id',
    })
    const address = await ctx.prompts.text(options.address, { flag: '--address', message: 'Address' })
    const twoTap =
      twoTapDelay === undefined || twoTapWindow === undefined
        ? undefined
        : { delaySeconds: twoTapDelay, windowSeconds: twoTapWindow }
    const contract = await ctx.call('POST /admin/contracts', {
      body: { symbol, name, chainId, address, twoTap, team: options.team },
    })
    await ctx.io.one(contract, (made) => ({
      Id: made.id,
      Symbol: made.symbol,
      Name: made.name,
      Chain: made.chainId,
      Address: made.address,
      Status: made.status,
      Team: made.team,
    }))
    ctx.io.hint(
      `Link a chip to a token of it: tapchip chips link UID --contract-address ${contract.address ?? 'ADDRESS'} --chain-id ${contract.chainId} --token-id ID`,
    )
  },
})
