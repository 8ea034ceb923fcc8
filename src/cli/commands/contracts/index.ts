import { defineCommand } from '../../command/define.ts'
import { flag, type OptionSpec, team, text, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { hintAtTransaction } from '../sending.ts'
import { readAbi } from './abi.ts'
import {
  collectionFlags,
  contractFlags,
  describeRoyalty,
  describeTwoTap,
  fields,
  findContract,
  hintAtLink,
  onChainFields,
  printWarnings,
  readCollection,
  readContractFlags,
  readTwoTap,
  symbolArgument,
  twoTapFlags,
} from './contract.ts'
import { deploy } from './deploy.ts'

const list = defineCommand({
  name: 'list',
  summary: "List a team's token contracts",
  examples: ['contracts list', 'contracts list --json'],
  options: { team },
  run: async (ctx, { options }) => {
    const contracts = await ctx.call('GET /admin/contracts', { query: { team: options.team } })
    await ctx.io.list(
      contracts,
      {
        ID: (contract) => contract.id,
        SYMBOL: (contract) => contract.symbol,
        NAME: (contract) => contract.name,
        KIND: (contract) => contract.kind,
        CHAIN: (contract) => contract.chainId,
        ADDRESS: (contract) => contract.address,
        STATUS: (contract) => contract.status,
        'TWO TAPS': describeTwoTap,
        ROYALTY: describeRoyalty,
        TEAM: (contract) => contract.team,
      },
      'No contracts. Deploy one: tapchip contracts deploy --help',
    )
    for (const { symbol, problem } of contracts)
      if (problem !== null) ctx.io.warn(`Warning: ${symbol}: ${problem}`)
  },
})

const show = defineCommand({
  name: 'show',
  summary: 'Show a contract, and what its chain has at its address',
  description:
    'Show a contract, and what its chain has at its address: whether there is code and whether it is what Tapchip deploys, ' +
    "who owns it, and whether it trusts this daemon's sign verifier.",
  examples: ['contracts show JKT', "contracts show JKT --json | jq -r '.code, .owner'"],
  args: symbolArgument,
  options: { team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id } = await findContract(ctx, args.symbol, options.team)
    const contract = await ctx.call('GET /admin/contracts/:id', { params: { id } })
    await ctx.io.one(contract, (it) => ({ ...fields(it), ...onChainFields(it) }))
    printWarnings(ctx, contract.warnings)
  },
})

const register = defineCommand({
  name: 'register',
  summary: 'Register a token contract that is deployed already',
  description:
    'Register a token contract that is deployed already. If its chain is configured, the contract is checked: its tokens ' +
    "can be moved from here if it trusts this daemon's sign verifier. For any other ERC-721, name the functions of its ABI that " +
    'move and mint tokens, with the role of each argument: owner, recipient, tokenId, uri (of the metadata), data (empty), or a ' +
    'constant. A dry call shows which approval or role the relayer lacks.',
  examples: [
    "contracts register --symbol CAP --name Caps --chain-id 8453 --address 0x… --abi Caps.json --transfer 'safeTransferFrom(owner,recipient,tokenId)' --mint 'mintTo(recipient,tokenId)'",
    'contracts register --symbol JKT --name Jackets --chain-id 8453 --address 0x5FbDB2315678afecb367f032d93F642f64180aa3',
    'contracts register --symbol JKT --name Jackets --chain-id 8453 --address 0x… --two-tap-delay 60 --two-tap-window 3600',
  ],
  options: {
    ...contractFlags,
    address: text('--address <address>', 'Its address'),
    abi: text('--abi <file>', 'Its ABI: JSON, an artifact of Foundry or Hardhat, or human-readable lines'),
    transfer: text('--transfer <function>', 'Its function for transfers'),
    mint: text('--mint <function>', 'Its function for mints'),
    ...twoTapFlags,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const twoTap = readTwoTap(options)
    const { transfer, mint } = options
    const abi = options.abi === undefined ? undefined : readAbi(options.abi)
    const known = await readContractFlags(ctx, options)
    const address = await ctx.prompts.text(options.address, { flag: '--address', message: 'Address' })
    const contract = await ctx.call('POST /admin/contracts', {
      body: { ...known, address, twoTap, abi, transfer, mint, team: options.team },
    })
    await ctx.io.one(contract, (made) => ({ ...fields(made), ...onChainFields(made) }))
    printWarnings(ctx, contract.warnings)
    hintAtLink(ctx, contract)
  },
})

/** Commander sets such a flag to true until it is given. */
const oneTap: OptionSpec<boolean> = {
  flags: '--no-two-tap',
  description: 'One tap is enough from now on',
  read: (raw) => raw === false,
}

const edit = defineCommand({
  name: 'edit',
  summary: 'Change what marketplaces show of a contract, its royalty, and its two-tap policy',
  description:
    'Change what marketplaces show of a contract, its royalty, and its two-tap policy. The royalty is set by a transaction; the ' +
    'rest is served, and announced on the chain. An empty text clears a field.',
  examples: [
    'contracts edit JKT --royalty-percent 2.5 --royalty-to 0x5FbDB2315678afecb367f032d93F642f64180aa3',
    "contracts edit JKT --image ipfs://… --banner https://acme.example/banner.png --description 'Jackets with a chip'",
    'contracts edit JKT --two-tap-delay 60 --two-tap-window 3600',
    'contracts edit JKT --no-two-tap',
  ],
  args: symbolArgument,
  options: { ...collectionFlags, ...twoTapFlags, oneTap, team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const twoTap = readTwoTap(options)
    const collection = readCollection(options)
    if (options.oneTap && twoTap !== undefined)
      throw new UsageError('Specify either --two-tap-delay and --two-tap-window, or --no-two-tap.')
    const body = { ...collection, twoTap: options.oneTap ? null : twoTap }
    if (Object.values(body).every((value) => value === undefined))
      throw new UsageError('Specify what to change. See tapchip contracts edit --help')
    const { id } = await findContract(ctx, args.symbol, options.team)
    const edited = await ctx.call('PATCH /admin/contracts/:id', { params: { id }, body })
    await ctx.io.one(edited, fields)
    printWarnings(ctx, edited.warnings)
    if (edited.sentTransactionId !== null) hintAtTransaction(ctx, edited.sentTransactionId)
    else ctx.io.hint('It applies from now on. See all contracts: tapchip contracts list')
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a contract that was registered by mistake, or never deployed',
  examples: ['contracts remove OLD'],
  args: symbolArgument,
  options: { team, yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id, symbol, address, chainId } = await findContract(ctx, args.symbol, options.team)
    const where = address === null ? `chain ${chainId}` : `${address} on chain ${chainId}`
    await ctx.prompts.confirm(options.yes, `Remove the contract ${symbol} (${where})?`)
    const request = { params: { id } }
    await ctx.io.one(await ctx.call('DELETE /admin/contracts/:id', request), () => ({ Removed: symbol }))
    ctx.io.hint('Its symbol and its address are free again: tapchip contracts register')
  },
})

const setUrl = defineCommand({
  name: 'set-url',
  summary: "Point a contract to this daemon's base URL, where its metadata is",
  description:
    "Point a contract to this daemon's base URL, where wallets and marketplaces look for its metadata. On the embedded chain that " +
    'happens automatically; elsewhere it costs gas, so it waits for this command.',
  examples: ['contracts set-url JKT', 'contracts set-url JKT --force'],
  args: symbolArgument,
  options: { force: flag('--force', 'Also if the contract already has this URL'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id } = await findContract(ctx, args.symbol, options.team)
    const result = await ctx.call('POST /admin/contracts/:id/service-url', {
      params: { id },
      body: { force: options.force },
    })
    await ctx.io.one(result, fields)
    printWarnings(ctx, result.warnings)
    ctx.io.hint(
      result.sentTransactionId === null
        ? 'Unchanged: the contract already has this base URL. To send it again: --force'
        : `It is on its way. Follow it: tapchip transactions show ${result.sentTransactionId}`,
    )
  },
})

export const verbs = [list, show, deploy, register, edit, setUrl, remove]
