import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { nanoid } from 'nanoid'
import type { Logger } from 'pino'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import { readRegular, replaceFile } from '../../../values/files.ts'
import type { Db } from '../../store/database/database.ts'
import { defaultLeaseMs, Lease } from '../../store/lease/lease.ts'

/** Another daemon on this database already runs the embedded chain. */
export class EmbeddedElsewhere extends Error {
  override readonly name = 'EmbeddedElsewhere'
  constructor() {
    super(
      'Another daemon on this database runs its embedded chain, which is for one daemon alone: what it records would be missing here. Start this one without TAPCHIP_DEV_CHAIN, or stop the other; several daemons need a chain that all of them reach (TAPCHIP_RPC_<chain id>).',
    )
  }
}

const renewMs = 1000

/**
 * Reserves the embedded chain for this data directory, which has its state. A killed daemon can restart here at once;
 * a daemon elsewhere has to wait until this one is gone.
 * @param lost called when another daemon takes the chain over, for example after this process was suspended
 * @returns a function that releases it @throws EmbeddedElsewhere
 */
export async function acquireChain({
  db,
  log,
  dataDir,
  onLost,
}: {
  db: Db
  log: Pick<Logger, 'warn' | 'error'>
  dataDir: string
  onLost: () => void
}): Promise<() => Promise<void>> {
  const lease = new Lease({ db, name: 'embedded chain', holder: holderIn(dataDir) })
  if (!(await lease.acquireWithin(defaultLeaseMs + renewMs))) throw new EmbeddedElsewhere()
  log.warn('the embedded chain is for one daemon alone: no other on this database can use it')
  const loop = new BackgroundLoop({
    run: async () => {
      if (!lease.isHeld || (await lease.renew())) return
      log.error("another daemon on this database runs its embedded chain now, so this one's is stopped")
      onLost()
    },
    firstMs: renewMs,
    restMs: () => renewMs,
    // Other code that needs the database reports this failure.
    failed: () => undefined,
  })
  loop.start()
  return async () => {
    await loop.stop()
    await lease.release()
  }
}

/** A random name kept in the data directory: machines cloned from one image have the same host names and paths. */
export function holderIn(dataDir: string): string {
  const file = join(dataDir, 'embedded-chain.holder')
  if (!existsSync(file)) replaceFile(file, `${nanoid()}\n`)
  return readRegular(file).trim()
}
