import { optionalArgument, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { eventId, readId } from '../named.ts'
import { contractFlag, readContract } from './contract.ts'

export const eventArgument = { event: optionalArgument('event', 'Its id: tapchip guestbook list') }

/** For events whose ID nobody remembers. */
export const eventFlags = {
  ...contractFlag,
  tokenId: text('--token-id <id>', 'Its token id there'),
}

interface EventOptions {
  readonly event: string | undefined
  readonly contract: string | undefined
  readonly tokenId: string | undefined
}

export const hasEvent = ({ event, contract, tokenId }: EventOptions): boolean =>
  event !== undefined || contract !== undefined || tokenId !== undefined

export const readEvent = async (
  ctx: CliContext,
  { event, contract, tokenId }: EventOptions,
): Promise<{ eventId: number } | { contractId: number; tokenId: string }> => {
  const isPlace = contract !== undefined || tokenId !== undefined
  if (event !== undefined && isPlace)
    throw new UsageError('Specify which event in one way: by its id, or by --contract and --token-id.')
  if (event !== undefined) return { eventId: readEventId(event) }
  if (contract !== undefined && tokenId !== undefined)
    return { contractId: await readContract(ctx, contract), tokenId }
  throw new UsageError(
    isPlace
      ? `${contract === undefined ? '--contract' : '--token-id'} is missing: only both together name an event.`
      : 'Specify which event: its id, or --contract and --token-id.',
    'List them: tapchip guestbook list',
  )
}

export const readEventId = (text: string): number =>
  readId(text, { noun: 'guestbook event', list: 'guestbook list' }, eventId)
