import { expect, test } from 'vitest'
import { cliHome } from '../support/cli.ts'
import { adminToken, startTestDaemon } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { seed } from '../support/seeds.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const dir = `server-status-${process.pid}`

test('a daemon tells its engine, server, and pools, without the password; backups are made elsewhere; one whose database falls silent is unready in time', async () => {
  const env = await databaseOf(dir)
  const url = new URL(env.TAPCHIP_DATABASE_URL ?? '')
  const proxy = await startTcpProxy(Number(url.port))
  const through = `postgres://${url.username}:hidden-word@127.0.0.1:${proxy.port}${url.pathname}`
  const name = `postgres://127.0.0.1:${proxy.port}${url.pathname}`
  const daemon = await startTestDaemon({ seed, env: { ...env, TAPCHIP_DATABASE_URL: through } })
  const here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: adminToken })
  const get = async (path: string) => {
    const answer = await fetch(daemon.url + path, { headers: { authorization: `Bearer ${adminToken}` } })
    return { status: answer.status, text: await answer.text() }
  }
  try {
    const status = await get('/admin/status?check=true')
    const { database, lastBackupAt } = JSON.parse(status.text)
    expect(database).toEqual({
      engine: 'postgres',
      sizeBytes: expect.any(Number),
      integrity: 'ok',
      server: {
        name,
        version: expect.stringMatching(/^\d+/),
        latencyMs: expect.any(Number),
        standbys: [],
        pools: ['read', 'tap', 'write', 'slow'].map((pool) => ({
          pool,
          inUse: expect.any(Number),
          idle: expect.any(Number),
          waiting: 0,
          max: expect.any(Number),
        })),
        conflicts: expect.any(Number),
        lostConnections: expect.any(Number),
      },
    })
    expect(lastBackupAt).toBeUndefined()
    expect(JSON.parse((await get('/readyz')).text)).toMatchObject({
      status: 'ready',
      database: { engine: 'postgres', inUse: expect.any(Number), waiting: 0, max: 22 },
    })
    const metrics = await get('/metrics')
    expect(metrics.text).toContain('tapchip_database_connections{pool="write",state="max"} 5')
    expect(metrics.text).toMatch(/tapchip_database_latency_seconds 0\.\d+/)

    const doctor = await here.run('doctor', '--json')
    const findings = doctor.json() as { check: string; status: string; detail: string }[]
    expect(findings.filter(({ check }) => check === 'database')).toEqual([
      expect.objectContaining({ status: 'ok', detail: expect.stringContaining(`PostgreSQL`) }),
    ])
    expect(findings.map(({ check }) => check)).not.toContain('backup')
    const shown = await here.run('daemon', 'status')
    expect(shown.stdout).toContain(`at ${name}`)
    // Before it asks for a passphrase.
    const backup = await here.run('backup')
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining(`pg_dump`)])
    const report = await here.run('bugreport', '--json')
    const everything = [status.text, metrics.text, doctor.stdout, shown.stdout, backup.stderr, report.stdout]
    expect(everything.join()).not.toContain('hidden-word')

    proxy.isSilent = true
    const began = performance.now()
    const silent = await get('/readyz')
    expect([silent.status, JSON.parse(silent.text).code]).toEqual([503, 'store_unavailable'])
    expect(performance.now() - began).toBeLessThan(4000)
    // Each of several tries would wait for the server again.
    const asked = performance.now()
    const [unready, unwell] = [await here.run('daemon', 'status'), await here.run('doctor', '--json')]
    expect(performance.now() - asked).toBeLessThan(12_000)
    expect([unready.code, unready.stderr]).toEqual([
      1,
      expect.stringContaining('The database does not answer'),
    ])
    expect(unwell.json()).toContainEqual(
      expect.objectContaining({ check: 'database', status: 'fail', detail: 'The database does not answer' }),
    )
  } finally {
    proxy.isSilent = false
    here.remove()
    await daemon.stop()
    await proxy.close()
    await dropDatabaseOf(dir)
  }
})
