import type { TeamRow } from '../../store/schema.ts'
import { planImport } from '../chips/import-chips.ts'
import { DomainError, invalid } from '../errors.ts'
import type { BaseUrlCheck, BaseUrlDeps } from './base-url.ts'
import { chipKeys, missingKeySet } from './chip-keys.ts'
import type { ChipDetails } from './conversation.ts'
import { provision } from './provision.ts'
import { recoverChip } from './recover.ts'
import { resetChip } from './reset.ts'
import type { Holder, NfcSessions, SessionStep } from './sessions.ts'
import type { SetUpDeps } from './set-up.ts'

export type OpenDeps = SetUpDeps & BaseUrlDeps & { readonly config: { readonly ephemeral: boolean } }

export interface OpenRequest {
  readonly purpose: 'provision' | 'recover' | 'reset'
  readonly atr: Uint8Array | undefined
  readonly keySet: number | undefined
  readonly chipGroup: string | undefined
  readonly rekey: boolean
  readonly acceptUrl: boolean
  /** Stop once the chip is known, and be told what to do with it. */
  readonly waitForDetails: boolean
  readonly details: ChipDetails
  /** Whether the caller's word is enough that a blank chip is one that is registered with keys. */
  readonly mayVouch: boolean
  /** Whether the caller may give power over what chips carry. */
  readonly mayBind: boolean
}

/**
 * Begins to talk with a card. What is wrong with the request is an error; what is wrong with the chip is how the
 * session ends. @throws DomainError invalid_input, not_found, conflict, rate_limited
 */
export async function openSession(
  deps: OpenDeps,
  { sessions, urlCheck }: { sessions: NfcSessions; urlCheck: BaseUrlCheck },
  holder: Holder,
  request: OpenRequest,
  team: () => Promise<TeamRow>,
): Promise<SessionStep> {
  const { atr, purpose, waitForDetails, details, rekey, mayVouch, mayBind } = request
  switch (purpose) {
    case 'recover':
      return sessions.open(deps, holder, (session) => recoverChip(deps, session, { atr, mayBind }))
    case 'reset':
      return sessions.open(deps, holder, (session) =>
        resetChip(deps, session, { atr, asks: waitForDetails, mayVouch }),
      )
    case 'provision': {
      const { keySet, chipGroup } = request
      if (keySet === undefined) throw invalid('keySet', 'is required to set a chip up')
      if (chipGroup === undefined) throw invalid('chipGroup', 'is required to set a chip up')
      const { id: teamId } = await team()
      const { actor } = holder
      const asPlanned = { isSimulated: false, mayBind, dryRun: true }
      await planImport(deps, { teamId, actor, chipGroup, keySetId: keySet, ...asPlanned })
      const set = deps.keyRing.get(keySet)
      if (!set) throw missingKeySet(keySet)
      // Says now, and not at the first chip, that it cannot set chips up.
      await chipKeys({ db: deps.db.read, box: deps.box }, [{ keySet, generation: 0 }])
      await assertUrl(deps, urlCheck, request.acceptUrl)
      const given = waitForDetails ? undefined : details
      const wanted = { atr, teamId, chipGroup, set, rekey, mayVouch, mayBind, details: given }
      return sessions.open(deps, holder, (session) => provision(deps, session, wanted))
    }
  }
}

async function assertUrl(deps: OpenDeps, check: BaseUrlCheck, isAccepted: boolean): Promise<void> {
  // What lives in a temporary directory keeps no promise to any chip anyway.
  if (isAccepted || deps.config.ephemeral) return
  if (!/^[\x21-\x7e]+$/.test(deps.baseUrl))
    throw new DomainError(
      'conflict',
      'The base URL of the daemon is not plain ASCII, as that of a chip must be.',
    )
  await check.assertReachable(deps)
}
