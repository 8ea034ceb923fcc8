import type { Logger } from 'pino'
import type { SendRequest } from '../../badges/poap-deps.ts'
import { allCreations } from '../../store/badge-events/badge-upstream.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { type Db, isShared } from '../../store/database/database.ts'
import type { Election } from '../../store/lease/leader-election.ts'
import type { Clock } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { ImageFolder } from './image.ts'
import { Poller } from './poll.ts'
import { openProviders, type ProviderSettings, type Providers } from './providers.ts'
import { Settler } from './settle.ts'

/** The badge services of a running daemon. */
export interface Badges {
  readonly providers: Providers
  readonly settler: Settler
  readonly images: ImageFolder
  wake(): void
  /** Processes everything due; lets tests avoid waiting. */
  tick(): Promise<void>
  start(): void
  stop(): Promise<void>
}

interface Deps {
  db: Db
  box: SecretBox
  clock: Clock
  webhookEvents: WebhookEvents
  log: Pick<Logger, 'warn' | 'info'>
  send: SendRequest
  dataDir: string
  /** Receives errors of images that cannot be written. */
  writeFailed(error: unknown): void
  election: Election
}

/** Continues what an earlier run left open. */
export async function openBadges(settings: ProviderSettings, deps: Deps): Promise<Badges> {
  const { log, send, dataDir, writeFailed, election, ...parts } = deps
  const hasOthers = isShared(deps.db)
  const images = new ImageFolder(dataDir, writeFailed)
  try {
    images.sweep()
  } catch (err) {
    writeFailed(err)
    log.warn({ err }, 'leftover uploads of an earlier run could not be removed')
  }
  const providers = openProviders(settings, { ...parts, send })
  const settler = new Settler({ ...parts, providers })
  const poller = new Poller({
    ...parts,
    providers,
    settler,
    ...(hasOthers ? { election } : {}),
    pollSeconds: settings.poap?.pollSeconds ?? 60,
    random: Math.random,
    failed: (err) => log.warn({ err }, 'updating badges failed'),
    onDecided: (event) => log.info(event, 'a badge event was approved or rejected'),
  })
  if (hasOthers) election.onElected(() => poller.wake())
  else await poller.recover()
  for (const { id, name, createdAt } of await allCreations(parts.db.read))
    log.warn(
      { creation: id, name, createdAt },
      'a badge event was sent to POAP without an answer, so it may exist: check whether its e-mail arrived',
    )
  return {
    providers,
    settler,
    images,
    wake: () => poller.wake(),
    tick: () => poller.tick(),
    start: () => poller.start(),
    stop: () => poller.stop(),
  }
}
