import type { CliContext } from '../../context.ts'

export const chooseKeySet = async (
  ctx: CliContext,
  keySet: number | undefined,
  isOffered: (set: { readonly canProvision: boolean }) => boolean = () => true,
): Promise<number> =>
  Number(
    await ctx.prompts.choice(keySet?.toString(), {
      flag: '--key-set',
      message: 'Which key set?',
      choices: async () =>
        (await ctx.call('GET /admin/key-sets'))
          .filter(isOffered)
          .map(({ id, diversification }) => ({ name: `${id} (${diversification})`, value: String(id) })),
    }),
  )
