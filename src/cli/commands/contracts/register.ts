import { defineCommand } from '../../command/define.ts'
import { team, text } from '../../command/options.ts'
import {
  contractFlags,
  fields,
  hintAtLink,
  onChainFields,
  printWarnings,
  readContractFlags,
  readTwoTap,
  twoTapFlags,
} from './contract.ts'

export const register = defineCommand({
  name: 'register',
  summary: 'Register a token contract that is deployed already',
  description:
    'Register a token contract that is deployed already. If its chain is configured, the contract is checked: its tokens ' +
    "can be moved from here if it trusts this daemon's sign verifier.",
  examples: [
    'contracts register --symbol JKT --name Jackets --chain-id 8453 --address 0x5FbDB2315678afecb367f032d93F642f64180aa3',
    'contracts register --symbol JKT --name Jackets --chain-id 8453 --address 0x… --two-tap-delay 60 --two-tap-window 3600',
  ],
  options: {
    ...contractFlags,
    address: text('--address <address>', 'Its address'),
    ...twoTapFlags,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const twoTap = readTwoTap(options)
    const known = await readContractFlags(ctx, options)
    const address = await ctx.prompts.text(options.address, { flag: '--address', message: 'Address' })
    const contract = await ctx.call('POST /admin/contracts', {
      body: { ...known, address, twoTap, team: options.team },
    })
    await ctx.io.one(contract, (made) => ({ ...fields(made), ...onChainFields(made) }))
    printWarnings(ctx, contract.warnings)
    hintAtLink(ctx, contract)
  },
})
