import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { csvOfChips, uidDecimal, uidHex } from './chips.mjs'
import { call, importChips, startDaemon } from './daemon.mjs'

/** In a statement it is nothing but the counter. */
const counter = 424_242

/**
 * Makes a database of chips with the daemon, and notes what it asks of SQLite for one valid tap. The daemon is stopped then.
 * @returns the file, and `reads` and `writes` as { sql, values }, where values are { is: 'uid' | 'counter' | 'id' } or
 * { value }; `id` is what the write before answered
 */
export async function recordTap({ core, dir, chips, tapMaker }) {
  const file = join(dir, 'statements.json')
  const daemon = await startDaemon(core, dir, {
    flags: ['--require', fileURLToPath(new URL('statements-hook.cjs', import.meta.url))],
    env: { TAPCHIP_BENCH_STATEMENTS: file },
  })
  await importChips(daemon, 'Stock', csvOfChips(0, chips), chips)
  const tap = (n) => call(daemon, 'GET', `/chips/find?${tapMaker.query(uidHex(0), n)}`)
  // Of a first tap something may be asked that is known afterwards.
  await tap(1)
  process.kill(daemon.pid, 'SIGUSR2')
  await sleep(200)
  await tap(counter)
  process.kill(daemon.pid, 'SIGUSR2')
  while (!existsSync(file)) await sleep(20)
  // Transactions are what the bare database makes for itself, and what is asked beside a tap is none of it.
  const noted = JSON.parse(readFileSync(file, 'utf8')).filter(({ values }) => values.includes(uidDecimal(0)))
  await daemon.stop()
  rmSync(file)
  // By its ID, the next statement raises the chip.
  const id = noted.find(({ sql }) => / returning /i.test(sql))?.answer[0]
  const filled = ({ sql, values }) => ({
    sql,
    values: values.map((value) => place(value, /^\s*update /i.test(sql) ? id : undefined)),
  })
  const isRead = ({ sql }) => /^\s*select /i.test(sql)
  return {
    databaseFile: daemon.databaseFile,
    reads: noted.filter(isRead).map(filled),
    writes: noted.filter((one) => !isRead(one)).map(filled),
  }
}

function place(value, id) {
  if (value === uidDecimal(0)) return { is: 'uid' }
  if (value === counter) return { is: 'counter' }
  return id !== undefined && value === id ? { is: 'id' } : { value }
}
