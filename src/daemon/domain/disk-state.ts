import type { Db } from '../store/database.ts'
import type { Disk, DiskState } from '../store/disk.ts'
import { setSetting } from '../store/settings.ts'
import { type Clock, iso } from './time.ts'

/** Whether the daemon can write: tried out where that is in doubt. @throws what else is wrong with the store */
export const diskState = ({ db, disk, clock }: { db: Db; disk: Disk; clock: Clock }): Promise<DiskState> =>
  disk.state(() => db.write((trx) => setSetting(trx, 'lastProbe', iso(clock.now()))))
