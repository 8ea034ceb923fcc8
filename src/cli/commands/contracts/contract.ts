import type { AnswerOf, ElementOf } from '../../client/types.ts'
import { argument, integer, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { findNamed } from '../named.ts'

export type Contract = ElementOf<'GET /admin/contracts'>

export const symbolArgument = { symbol: argument('symbol', 'Its symbol, or its id') }

const year = 31_536_000

export const twoTapFlags = {
  twoTapDelay: integer('--two-tap-delay <seconds>', 'Two-tap claim: delay after the first tap', [0, year]),
  twoTapWindow: integer('--two-tap-window <seconds>', 'Two-tap claim: time to complete it', [1, year]),
}

/** What marketplaces show of it. */
export const collectionFlags = {
  royaltyPercent: text('--royalty-percent <percent>', 'Royalty on sales, such as 2.5 (0: none)'),
  royaltyTo: text('--royalty-to <address|name>', 'Who receives the royalty'),
  image: text('--image <url>', 'Its picture: https, ipfs or ar'),
  banner: text('--banner <url>', 'Its banner'),
  description: text('--description <text>', 'What it is'),
  externalLink: text('--external-link <url>', 'Its web site'),
}

/** An empty text clears a field. */
export const readCollection = (options: Record<keyof typeof collectionFlags, string | undefined>) => {
  const { royaltyPercent, royaltyTo, ...texts } = options
  const orNull = (text: string | undefined) => (text === '' ? null : text)
  return {
    royaltyPercent,
    royaltyTo,
    image: orNull(texts.image),
    banner: orNull(texts.banner),
    description: orNull(texts.description),
    externalLink: orNull(texts.externalLink),
  }
}

export const contractFlags = {
  symbol: text('--symbol <symbol>', 'Its symbol, unique in the team'),
  name: text('--name <name>', 'Its name'),
  chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
}

export const readContractFlags = async (
  { prompts }: CliContext,
  options: { symbol: string | undefined; name: string | undefined; chainId: number | undefined },
) => ({
  symbol: await prompts.text(options.symbol, { flag: '--symbol', message: 'Symbol' }),
  name: await prompts.text(options.name, { flag: '--name', message: 'Name' }),
  chainId: await prompts.text(options.chainId?.toString(), { flag: '--chain-id', message: 'Chain ID' }),
})

/** The policy of both flags together; undefined if neither is given. */
export const readTwoTap = (options: {
  twoTapDelay: number | undefined
  twoTapWindow: number | undefined
}) => {
  const { twoTapDelay: delaySeconds, twoTapWindow: windowSeconds } = options
  if (delaySeconds !== undefined && windowSeconds !== undefined) return { delaySeconds, windowSeconds }
  if (delaySeconds === windowSeconds) return undefined
  throw new UsageError('Two-tap claim needs both --two-tap-delay and --two-tap-window.')
}

export const findContract = async (
  ctx: CliContext,
  options: string,
  teamOption: string | undefined,
): Promise<Contract> => {
  const contracts = await ctx.call('GET /admin/contracts', { query: { team: teamOption } })
  return findNamed(contracts, options, {
    noun: 'contract',
    list: 'contracts list',
    by: [({ symbol }) => symbol, ({ id }) => id],
  })
}

export const describeTwoTap = ({ twoTap }: Contract): string | null =>
  twoTap && `${twoTap.delaySeconds} s, ${twoTap.windowSeconds} s`

const percentOf = ({ royalty }: Contract): string => (royalty === null ? 'none' : `${royalty.percent} %`)

/** Null: unknown. */
export const describeRoyalty = (contract: Contract): string | null =>
  contract.features?.includes('royalty') === false ? 'not possible' : contract.features && percentOf(contract)

const codeDescriptions = {
  ours: 'what Tapchip deploys',
  other: 'not what Tapchip deploys',
  none: 'none: nothing is there',
}

export const onChainFields = (contract: Omit<AnswerOf<'GET /admin/contracts/:id'>, keyof Contract>) => ({
  Code: contract.code === null ? 'not known' : codeDescriptions[contract.code],
  'Code hash': contract.codeHash ?? undefined,
  Owner: contract.owner ?? undefined,
  'Sign verifier': contract.signVerifier ?? undefined,
  'Trusts our signatures': contract.trustsSignVerifier ?? 'not known',
  'Dry transfer': contract.transfers ?? undefined,
  'Dry mint': contract.mints ?? undefined,
})

export const fields = (contract: Contract) => ({
  Id: contract.id,
  Symbol: contract.symbol,
  Name: contract.name,
  Kind: contract.kind,
  Chain: contract.chainId,
  Address: contract.address,
  Status: contract.status,
  'Two taps': describeTwoTap(contract),
  Transfer: contract.transfer ?? undefined,
  Mint: contract.mint ?? undefined,
  Royalty: contract.royalty ? `${percentOf(contract)} to ${contract.royalty.to}` : describeRoyalty(contract),
  'Group mints': contract.features?.includes('group-mints') ?? 'not known',
  Description: contract.description ?? undefined,
  Image: contract.image ?? undefined,
  Banner: contract.banner ?? undefined,
  'External link': contract.externalLink ?? undefined,
  'Base URL': contract.serviceUrl,
  Transaction: contract.transactionId ?? undefined,
  Problem: contract.problem ?? undefined,
  Team: contract.team,
})

export const hintAtLink = ({ io }: CliContext, { address, chainId }: Contract): void =>
  io.hint(
    `Link a chip to a token of it: tapchip chips link UID --contract-address ${address ?? 'ADDRESS'} --chain-id ${chainId} --token-id ID`,
  )

export const printWarnings = ({ io }: CliContext, warnings: readonly string[]): void => {
  for (const warning of warnings) io.warn(`Warning: ${warning}`)
}
