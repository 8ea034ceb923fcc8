import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'

export const contractFlag = {
  contract: text('--contract <id|symbol|address>', 'The guestbook contract'),
}

/** The ID of a contract named by its ID, symbol or address. */
export const readContract = async (ctx: CliContext, named: string): Promise<number> => {
  if (/^\d{1,15}$/.test(named)) return Number(named)
  const all = await ctx.call('GET /events/contracts')
  const isMatch = ({ symbol, address }: (typeof all)[number]) =>
    symbol === named || address?.toLowerCase() === named.toLowerCase()
  const [found, another] = all.filter(isMatch)
  if (found && !another) return found.id
  throw new UsageError(
    found
      ? `There are several guestbook contracts "${named}" on different chains. Specify one by its ID.`
      : `There is no guestbook contract "${named}".`,
    'List them: tapchip guestbook contracts',
  )
}

export const needContract = async (ctx: CliContext, contract: string | undefined): Promise<number> =>
  readContract(
    ctx,
    await ctx.prompts.choice(contract, {
      flag: '--contract',
      message: 'Guestbook contract',
      choices: async () =>
        (await ctx.call('GET /events/contracts')).map(({ id, symbol, name }) => ({
          name: `${symbol}: ${name}`,
          value: String(id),
        })),
    }),
  )
