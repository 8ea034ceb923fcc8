import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliHome, cliHome, ends } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'

const bob = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({
    chain: true,
    seed: {
      version: 1,
      names: { 'bob.eth': bob },
      teams: [
        {
          name: 'Acme',
          contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
          guestbookContracts: [{ symbol: 'GB', name: 'Guests', chainId: 31337 }],
        },
      ],
    },
  })
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterAll(async () => {
  here.remove()
  await daemon.stop()
})
const edit = (...args: string[]) => here.run('contracts', 'edit', ...args)

test('a collection gets its looks and its royalty, and loses them', async () => {
  const looks = [
    '--image',
    'ar://abc',
    '--banner',
    'https://acme.example/b.png',
    '--description',
    'With a chip',
  ]
  ends(await edit('JKT', ...looks), 2, 'image: must be a whole https:// URL')
  looks[1] = 'https://acme.example/a.png'
  const dry = await edit('JKT', ...looks, '--royalty-percent', '2.5', '--royalty-to', bob, '--dry-run')
  ends(dry, 0, 'Dry run: nothing was written')
  expect((await here.run('contracts', 'list', '--json')).json()).toMatchObject([
    { symbol: 'JKT', image: null, royalty: null, features: ['royalty', 'group-mints'] },
    { symbol: 'GB', royalty: null, features: [] },
  ])

  ends(await edit('JKT', ...looks, '--external-link', 'https://acme.example'), 0, 'It applies from now on')
  const sent = await edit('JKT', '--royalty-percent', '2.5', '--royalty-to', 'bob.eth')
  ends(sent, 0, 'tapchip transactions show')
  expect(sent.stdout).toMatch(new RegExp(`^Royalty: +2.5 % to ${bob}$`, 'm'))
  const listed = (await here.run('contracts', 'list')).stdout
  expect(listed).toMatch(/JKT.*2\.5 %/)
  expect(listed).toMatch(/GB.*not possible/)
  const cleared = await edit('JKT', '--royalty-percent', '0', '--image', '', '--json')
  expect(cleared.json()).toMatchObject({
    royalty: null,
    image: null,
    banner: 'https://acme.example/b.png',
    sentTransactionId: expect.any(Number),
    warnings: [],
  })
})

test('what does not fit is refused with what does', async () => {
  ends(await edit('JKT'), 2, 'Specify what to change')
  ends(await edit('JKT', '--royalty-percent', '2,5', '--royalty-to', bob), 2, 'from 0 to 100')
  ends(await edit('JKT', '--royalty-percent', '5'), 2, 'royaltyTo is required')
  ends(
    await edit('JKT', '--two-tap-delay', '1', '--two-tap-window', '2', '--no-two-tap'),
    2,
    'Specify either',
  )
  ends(await edit('GB', '--royalty-percent', '5', '--royalty-to', bob), 1, 'GB is a guestbook contract')
  const announced = await edit('GB', '--description', 'Guests of ours')
  expect(announced.code).toBe(0)
  expect(announced.stderr).toContain('Warning: GB cannot announce this change by itself')
})

test('a contract is deployed with all of it', async () => {
  const ran = await here.run(
    ...[
      'contracts',
      'deploy',
      '--symbol',
      'CAP',
      '--name',
      'Caps',
      '--chain-id',
      '31337',
      '--wait',
      '--json',
    ],
    ...['--royalty-percent', '10', '--royalty-to', bob, '--description', 'Caps'],
  )
  expect(ran.json()).toMatchObject({
    status: 'confirmed',
    description: 'Caps',
    royalty: { percent: 10, to: bob },
    features: ['royalty', 'group-mints'],
  })
})
