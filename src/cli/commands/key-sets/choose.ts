import type { CliContext } from '../../context.ts'

export const chooseKeySet = async (
  ctx: CliContext,
  given: number | undefined,
  isOffered: (set: { readonly canProvision: boolean }) => boolean = () => true,
): Promise<number> =>
  Number(
    await ctx.prompts.choice(given?.toString(), {
      flag: '--key-set',
      message: 'Which key set?',
      choices: async () =>
        (await ctx.call('GET /admin/key-sets'))
          .filter(isOffered)
          .map(({ id, diversification }) => ({ name: `${id} (${diversification})`, value: String(id) })),
    }),
  )
