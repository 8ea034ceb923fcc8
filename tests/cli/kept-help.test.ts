import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const kept = join(project, 'dist/help/100')

let here: CliHome
let place: string
beforeEach(() => {
  here = cliHome()
  place = mkdtempSync(join(tmpdir(), 'kept-help-'))
})
afterEach(() => {
  here.remove()
  rmSync(place, { recursive: true })
})

test('what was kept when the program was built is what the program says', async () => {
  const files = readdirSync(kept)
  expect(files.length).toBeGreaterThan(100)
  for (const file of files.filter((name) => !name.includes('__'))) {
    const path = file.split('.').slice(1, -1)
    expect((await here.run(...path, '--help')).stdout, file).toBe(readFileSync(join(kept, file), 'utf8'))
  }
})

test('is shown without the program, also through a pipe that nobody reads on', () => {
  cpSync(join(project, 'bin/tapchip.js'), join(place, 'bin/tapchip.js'))
  cpSync(join(project, 'dist/launch.cjs'), join(place, 'dist/launch.cjs'))
  cpSync(kept, join(place, 'dist/help/100'), { recursive: true })
  const shell = (command: string) => spawnSync('sh', ['-c', command], { cwd: place, encoding: 'utf8' })
  for (const [args, name] of [
    ['--help', 'tapchip'],
    ['-h', 'tapchip'],
    ['chips edit --help', 'tapchip.chips.edit'],
  ])
    expect(shell(`node bin/tapchip.js ${args}`)).toMatchObject({
      stdout: readFileSync(join(kept, `${name}.txt`), 'utf8'),
      ...{ stderr: '', status: 0 },
    })
  expect(shell('{ node bin/tapchip.js --help; echo $? >&2; } | true').stderr).toBe('0\n')
})

test('for what is no command, or has nowhere to go, the program is asked', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(project, 'bin/tapchip.js'), ...args], { encoding: 'utf8' })
  expect(run('../help/tapchip', '--help').stdout).toMatch(/^Operate NFC chips/)
  const full = spawnSync('sh', ['-c', 'node bin/tapchip.js --help > /dev/full'], {
    cwd: project,
    encoding: 'utf8',
  })
  expect(full).toMatchObject({ status: 1, stderr: expect.stringMatching(/Standard output/) })
})
