import { expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { seed, uids } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})

interface State {
  state: string
  chips: number
}
const counts = async (...args: string[]): Promise<Record<string, number>> => {
  const rows = (await here.run('chips', 'stats', ...args, '--json')).json() as State[]
  return Object.fromEntries(rows.map(({ state, chips }) => [state, chips]))
}

test('counts chips by state, also those of a group or of conditions', async () => {
  const before = await counts()
  const listed = (await here.run('chips', 'list', '--team', 'Acme', '--json')).json() as unknown[]
  expect((await counts('--team', 'Acme')).registered).toBe(listed.length)
  expect(before.disabled).toBe(0)
  await here.run('chips', 'disable', uids.jacket, '--yes')
  expect(await counts()).toEqual({ ...before, disabled: 1 })
  expect(await counts('--where', 'disabled=true')).toMatchObject({ registered: 1, disabled: 1 })
  expect((await counts('--where', 'item=jacket')).registered).toBeGreaterThan(0)
  await here.run('chips', 'enable', uids.jacket, '--yes')
})

test('prints a table, and groups with their states', async () => {
  const { stdout } = await here.run('chips', 'stats', '--team', 'Acme')
  expect(stdout).toMatch(/^STATE\tCHIPS\nregistered\t\d+\nconfigured\t\d+\n/)
  const groups = await here.run('chips', 'stats', '--team', 'Acme', '--by', 'group')
  expect(groups.stdout).toMatch(
    /^CHIP GROUP\tCHIPS\tCONFIGURED\tLINKED\tTAPPED\tOPENED\tDISABLED\tSIMULATED\tTEAM\n/,
  )
  expect(groups.stdout).toContain('Jackets\t')
})

test('says that no chip matches', async () => {
  const { code, stderr } = await here.run('chips', 'stats', '--where', 'keySet=999')
  expect([code, stderr]).toEqual([0, 'No chips match.\n'])
})
