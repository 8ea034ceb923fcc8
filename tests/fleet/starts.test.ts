import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAsOwner, startPostgres } from '../../scripts/postgres-server.mjs'
import { awaitServer } from '../../src/daemon/store/database/open.ts'
import { openTestApp } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf, testDataKey } from '../support/postgres.ts'
import { spawnDaemon } from '../support/process.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const dir = `starts-${process.pid}`
let server: Awaited<ReturnType<typeof startPostgres>>

beforeAll(async () => {
  server = await startPostgres()
  const rules = join(server.data, 'pg_hba.conf')
  writeFileSync(rules, `host all locked 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
  runAsOwner('psql', [`${server.url}/postgres`, '-c', `create role locked login password 'right'`])
  runAsOwner('psql', [`${server.url}/postgres`, '-c', 'select pg_reload_conf()'])
})

afterAll(async () => {
  await server.stop()
  await dropDatabaseOf(dir)
})

const impatient = { patienceMs: 0, waiting: () => undefined }

test('a wrong password, database, or certificate is named at once, and the password never', async () => {
  const at = `127.0.0.1:${server.port}`
  const wrong = [
    [`postgres://locked:s3cret@${at}/postgres`, 'password authentication failed for user "locked"'],
    [`postgres://locked@${at}/postgres`, 'password must be a string'],
    [`postgres://tapchip@${at}/absent`, 'database "absent" does not exist'],
    [`postgres://tapchip@${at}/postgres?sslmode=verify-full`, 'does not support SSL'],
    [`postgres://tapchip@${at}/postgres?sslrootcert=/absent.pem`, '/absent.pem'],
  ]
  for (const [url = '', why] of wrong) {
    const failed = awaitServer(url, { ...impatient, patienceMs: 60_000 })
    await expect(failed).rejects.toMatchObject({
      isLasting: true,
      message: expect.stringContaining(why ?? ''),
    })
    await expect(failed).rejects.not.toThrow('s3cret')
  }
  const env = {
    TAPCHIP_DATABASE_URL: `postgres://locked:s3cret@${at}/postgres`,
    TAPCHIP_DATA_KEY: testDataKey,
  }
  const ended = await spawnDaemon(['--port', '0', '--data-dir', join(server.data, dir)], env).catch(String)
  expect(ended).toContain(
    `The database postgres://${at}/postgres cannot be used: ${at}: password authentication failed`,
  )
  expect(ended).not.toContain('s3cret')
})

test('a database that starts after its daemon is waited for, and one that never does is named', async () => {
  const { port, close } = await startTcpProxy(server.port)
  await close()
  const url = `postgres://tapchip:s3cret@127.0.0.1:${port}/postgres`
  await expect(awaitServer(url, impatient)).rejects.toThrow(/could not be reached: .*ECONNREFUSED/)
  let there: Awaited<ReturnType<typeof startTcpProxy>> | undefined
  await awaitServer(url, {
    patienceMs: 60_000,
    waiting: (why) => {
      expect(why).not.toContain('s3cret')
      void startTcpProxy(server.port, port).then((proxy) => {
        there = proxy
      })
    },
  })
  await there?.close()
})

test('a caller whose answer was lost hears that it may have been done', async () => {
  const { TAPCHIP_DATABASE_URL: url = '' } = await databaseOf(dir)
  const proxy = await startTcpProxy(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String(proxy.port)
  const { app, admin, close } = await openTestApp({ env: { TAPCHIP_DATABASE_URL: through.href } })
  const create = () =>
    app.inject({ method: 'POST', url: '/admin/teams', headers: admin, payload: { name: 'Acme' } })
  proxy.judge = (bytes) => (bytes.includes('commit') ? 'last' : 'pass')
  const lost = await create()
  proxy.judge = () => 'pass'
  expect([lost.statusCode, lost.json().code]).toEqual([503, 'outcome_unknown'])
  expect(lost.json().message).toContain('may have been done, or not')
  // It was: nobody sent it twice, and nobody lost it.
  const teams = (await app.inject({ url: '/admin/teams', headers: admin })).json()
  expect(teams.filter(({ name }: { name: string }) => name === 'Acme')).toHaveLength(1)
  await close()
  await proxy.close()
})
