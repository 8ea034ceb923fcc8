import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startTestDaemon } from '../support/daemon.ts'
import { derived, uids } from '../support/seeds.ts'

test.each([
  [{ version: 1, keySets: [{ ...derived, metaReadKey: 'short' }] }, 'keySets.0.metaReadKey'],
  [
    { version: 1, teams: [{ name: 'T', chipGroups: [{ name: 'G', chips: [{ uid: 'zz' }] }] }] },
    'teams.0.chipGroups.0.chips.0.uid',
  ],
  [
    {
      version: 1,
      teams: [{ name: 'T', chipGroups: [{ name: 'G', chips: [{ uid: uids.jacket, keySet: 7 }] }] }],
    },
    'teams.0.chipGroups.0.chips.0',
  ],
  [
    {
      version: 1,
      keySets: [derived],
      teams: [
        {
          name: 'T',
          chipGroups: [{ name: 'G', chips: [{ uid: uids.jacket, keySet: 101, item: 'none' }] }],
        },
      ],
    },
    'teams.0.chipGroups.0.chips.0',
  ],
  [
    {
      version: 1,
      keySets: [derived],
      teams: [
        {
          name: 'T',
          chipGroups: [
            { name: 'G', chips: [{ uid: uids.jacket, keySet: 101, redirectUrl: 'javascript:x' }] },
          ],
        },
      ],
    },
    'redirectUrl',
  ],
  [
    {
      version: 1,
      teams: [
        {
          name: 'T',
          badgeEvents: [
            { name: 'B', startDate: '2026-02-31', endDate: '2026-03-01', expiryDate: '2026-03-02' },
          ],
        },
      ],
    },
    'teams.0.badgeEvents.0.startDate',
  ],
])('a seed that does not fit is refused with the path of what is wrong: %#', async (seed, path) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-seed-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  await expect(startTestDaemon({ seed, dataDir })).rejects.toThrow(path)
})
