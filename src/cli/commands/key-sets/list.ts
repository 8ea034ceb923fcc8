import { defineCommand } from '../../command/define.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the key sets without their keys',
  examples: ['key-sets list', 'key-sets list --json'],
  run: async (ctx) => {
    await ctx.io.list(
      await ctx.call('GET /admin/key-sets'),
      {
        ID: (set) => set.id,
        DIVERSIFICATION: (set) => set.diversification,
        'MAC FROM': (set) => set.macInputFrom,
        PARAMETERS: ({ parameters }) => `${parameters.d} ${parameters.e} ${parameters.c}`,
        PROVISIONS: (set) => set.canProvision,
        CHIPS: (set) => set.chips,
        CREATED: (set) => set.createdAt,
      },
      'No key sets. Create one: tapchip key-sets create --file keys.json',
    )
  },
})
