import type { FastifyInstance } from 'fastify'
import { StationBoard } from '../../domain/nfc/station-board.ts'
import type { Context } from '../../process/context.ts'
import { adminBatchRoutes } from '../batches.ts'
import { auditRoutes } from './audit.ts'
import { adminBadgeEventRoutes } from './badge-events.ts'
import { chainRoutes } from './chains.ts'
import { adminChipGroupRoutes } from './chip-groups.ts'
import { chipListRoutes } from './chip-lists.ts'
import { adminChipRoutes } from './chips.ts'
import { contractRoutes } from './contracts.ts'
import { credentialRoutes } from './credentials.ts'
import { daemonRoutes } from './daemon.ts'
import { eventRateRoutes } from './event-rates.ts'
import { adminItemRoutes } from './items.ts'
import { keySetRoutes } from './key-sets.ts'
import { linkRoutes } from './links.ts'
import { nfcRoutes } from './nfc.ts'
import { pageRoutes } from './pages.ts'
import { reservationRoutes } from './reservations.ts'
import { tapRoutes } from './taps.ts'
import { teamRoutes } from './teams.ts'
import { transactionRoutes } from './transactions.ts'
import { webhookRoutes } from './webhooks.ts'

/** Routes under /admin with JSON bodies or none. */
export function adminRoutes(app: FastifyInstance, ctx: Context): void {
  teamRoutes(app, ctx)
  const board = new StationBoard(ctx)
  credentialRoutes(app, ctx)
  keySetRoutes(app, ctx)
  adminChipGroupRoutes(app, ctx)
  chipListRoutes(app, ctx)
  adminChipRoutes(app, ctx)
  adminItemRoutes(app, ctx)
  linkRoutes(app, ctx)
  reservationRoutes(app, ctx)
  adminBadgeEventRoutes(app, ctx)
  eventRateRoutes(app, ctx)
  contractRoutes(app, ctx)
  transactionRoutes(app, ctx)
  chainRoutes(app, ctx)
  tapRoutes(app, ctx, board)
  pageRoutes(app, ctx)
  auditRoutes(app, ctx)
  adminBatchRoutes(app, ctx)
  daemonRoutes(app, ctx)
  nfcRoutes(app, ctx, board)
  webhookRoutes(app, ctx)
}
