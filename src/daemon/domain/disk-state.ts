import type { Db } from '../store/database.ts'
import type { Disk, DiskState } from '../store/disk.ts'
import { setSetting, setting } from '../store/settings.ts'
import { DomainError } from './errors.ts'
import { type Clock, iso } from './time.ts'

/** Whether the daemon can write: tried out where that is in doubt. @throws what else is wrong with the store */
export const diskState = ({ db, disk, clock }: { db: Db; disk: Disk; clock: Clock }): Promise<DiskState> =>
  disk.state(() => db.write((trx) => setSetting(trx, 'lastProbe', iso(clock.now()))))

/** @throws DomainError store_unavailable */
export async function probeStore({ db }: { db: Pick<Db, 'read'> }): Promise<void> {
  try {
    await setting(db.read, 'instance')
  } catch (cause) {
    throw new DomainError('store_unavailable', 'The database does not answer.', {
      retryAfterSeconds: 5,
      cause,
    })
  }
}
