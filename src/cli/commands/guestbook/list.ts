import { defineCommand } from '../../command/define.ts'
import { contractFlag, readContract } from './contract.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the guestbook events',
  examples: ['guestbook list', 'guestbook list --contract GB --json'],
  options: contractFlag,
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const { contract } = options
    const contractId = contract === undefined ? undefined : await readContract(ctx, contract)
    await ctx.io.list(
      await ctx.call('GET /events', { query: { contractId } }),
      {
        ID: (event) => event.id,
        NAME: (event) => event.name,
        'TOKEN ID': (event) => event.contract.tokenId,
        CONTRACT: (event) => event.contract.address ?? `${event.contract.id} (pending)`,
        CHAIN: (event) => event.contract.chainId,
        CREATED: (event) => event.createdAt,
      },
      'No events. Create one: tapchip guestbook create --help',
    )
  },
})
