import { isAdminAddress, isDaemonUrl } from '../client/address.ts'
import { defineCommand } from '../command/define.ts'
import { argument, flag, text, yes } from '../command/options.ts'
import { defaultUrl } from '../config.ts'
import { type ConfigFile, configPath, readConfigFile, writeConfigFile } from '../config-file.ts'
import { UsageError } from '../errors.ts'
import { findProjectFile } from '../project-file.ts'

const list = defineCommand({
  name: 'list',
  summary: 'List the contexts',
  examples: ['context list', 'context list --json'],
  run: async (ctx) => {
    const { current, contexts } = readConfigFile(ctx.system)
    const rows = Object.entries(contexts).map(([name, { url, apiKey, adminToken, adminUrl, ...more }]) => ({
      name,
      current: name === current,
      url,
      adminUrl: adminUrl ?? null,
      protected: more.protected === true,
      hasApiKey: apiKey !== undefined,
      hasAdminToken: adminToken !== undefined,
    }))
    await ctx.io.list(
      rows,
      {
        NAME: (row) => row.name,
        CURRENT: (row) => row.current,
        URL: (row) => row.url,
        ADMINISTRATION: (row) => row.adminUrl,
        PROTECTED: (row) => row.protected,
        'API KEY': (row) => row.hasApiKey,
        'ADMIN TOKEN': (row) => row.hasAdminToken,
      },
      'No contexts. Create one: tapchip context create NAME --url URL',
    )
    const project = findProjectFile(ctx.system)
    if (project?.context !== undefined)
      ctx.io.note(`In this directory, ${project.path} chooses "${project.context}".`)
  },
})

const show = defineCommand({
  name: 'show',
  summary: 'Show the settings in use and their origin',
  examples: ['context show', 'context show --json'],
  run: async (ctx) => {
    const config = ctx.config()
    const { contextName } = config
    const stored = contextName === undefined ? undefined : readConfigFile(ctx.system).contexts[contextName]
    const shown = {
      url: config.url,
      origin: config.origin,
      context: contextName ?? null,
      adminUrl: stored?.adminUrl ?? null,
      projectFile: config.projectFile ?? null,
      team: config.team ?? null,
      protected: config.isProtected,
      hasApiKey: config.apiKey !== undefined,
      apiKeyOrigin: config.apiKeyOrigin ?? null,
      hasAdminToken: config.adminToken() !== undefined,
      adminTokenOrigin: config.adminTokenOrigin() ?? null,
      file: configPath(ctx.system),
    }
    await ctx.io.one(shown, (it) => ({
      Daemon: it.url,
      'Comes from': it.origin,
      Context: it.context,
      ...(it.adminUrl === null ? {} : { Administration: it.adminUrl }),
      ...(it.projectFile === null ? {} : { 'Project file': it.projectFile, Team: it.team ?? undefined }),
      Protected: it.protected,
      'API key': it.apiKeyOrigin ?? it.hasApiKey,
      'Admin token': it.adminTokenOrigin ?? it.hasAdminToken,
      File: it.file,
    }))
  },
})

const create = defineCommand({
  name: 'create',
  summary: 'Save the address of a daemon under a name',
  description:
    'Save the address of a daemon under a name. Changes through a protected context ask for its ' +
    'name first; scripts pass it with --confirm NAME.',
  examples: [
    'context create prod --url https://tap.example.com --protected',
    'context create local --url http://127.0.0.1:8484 --use',
  ],
  args: { name: argument('name', 'The name') },
  options: {
    daemon: text('--daemon <url>', 'The address of the daemon, as --url'),
    adminUrl: text(
      '--admin-url <url>',
      'The address of administration, if it is different: http://… or unix:/path',
    ),
    protected: flag('--protected', 'Ask for the name of the context before changes'),
    use: flag('--use', 'Make it the current context (the first one always is)'),
  },
  run: async (ctx, { args, options }) => {
    const { name } = args
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
      throw new UsageError('A name can contain only letters, digits, dots, dashes and underscores.')
    const file = readConfigFile(ctx.system)
    if (Object.hasOwn(file.contexts, name)) {
      throw new UsageError(
        `The context "${name}" already exists.`,
        `Remove it first: tapchip context remove ${name}`,
      )
    }
    const flag = options.daemon ?? ctx.flags.url
    const url = await ctx.prompts.text(flag, { flag: '--url', message: 'Address of the daemon' })
    if (!isDaemonUrl(url))
      throw new UsageError(
        `"${url}" is not the address of a daemon.`,
        'It looks like https://tap.example.com',
      )
    const { adminUrl, protected: isProtected } = options
    if (adminUrl !== undefined && !isAdminAddress(adminUrl))
      throw new UsageError(
        `--admin-url "${adminUrl}" is not an address of administration.`,
        'It looks like http://127.0.0.1:8485 or unix:/srv/tapchip/admin.sock',
      )
    await ctx.beforeChange(`Would save ${url} as the context "${name}"`)
    const current = options.use || file.current === undefined ? name : file.current
    const context = {
      url,
      ...(adminUrl === undefined ? {} : { adminUrl }),
      ...(isProtected ? { protected: true } : {}),
    }
    writeConfigFile(ctx.system, { current, contexts: { ...file.contexts, [name]: context } })
    await ctx.io.one({ name, ...context, protected: isProtected, current: current === name }, (it) => ({
      Name: it.name,
      Daemon: it.url,
      ...(adminUrl === undefined ? {} : { Administration: adminUrl }),
      Protected: it.protected,
      Current: it.current,
    }))
    if (current === name)
      ctx.io.note(
        `It is the current context${options.use ? '' : ', since it is the first'}: commands without --context go to ${url}.`,
      )
    ctx.io.hint(`Save a key for it: tapchip login --context ${name}`)
  },
})

const contextArgument = { name: argument('name', 'The name of the context', 'context') }

const assertExists = (file: ConfigFile, name: string): void => {
  if (Object.hasOwn(file.contexts, name)) return
  throw new UsageError(`There is no context "${name}".`, 'List them: tapchip context list')
}

const use = defineCommand({
  name: 'use',
  summary: 'Make a context the current one',
  examples: ['context use prod'],
  args: contextArgument,
  run: async (ctx, { args }) => {
    const file = readConfigFile(ctx.system)
    assertExists(file, args.name)
    await ctx.beforeChange(`Would make "${args.name}" the current context`)
    writeConfigFile(ctx.system, { ...file, current: args.name })
    await ctx.io.one({ current: args.name }, (it) => ({ Current: it.current }))
    const project = findProjectFile(ctx.system)
    if (project?.context !== undefined && project.context !== args.name)
      ctx.io.note(`In this directory, ${project.path} takes precedence: it chooses "${project.context}".`)
    ctx.io.hint(
      ctx.system.env.TAPCHIP_URL
        ? 'TAPCHIP_URL is set, and takes precedence.'
        : 'Check the connection and the keys: tapchip doctor',
    )
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a context and its keys',
  examples: ['context remove prod'],
  args: contextArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    const file = readConfigFile(ctx.system)
    assertExists(file, args.name)
    await ctx.prompts.confirm(options.yes, `Remove the context "${args.name}" and its keys?`)
    await ctx.beforeChange(`Would remove the context "${args.name}"`)
    const contexts = Object.fromEntries(Object.entries(file.contexts).filter(([name]) => name !== args.name))
    writeConfigFile(ctx.system, { current: file.current === args.name ? undefined : file.current, contexts })
    await ctx.io.one({ removed: args.name }, (it) => ({ Removed: it.removed }))
    if (file.current === args.name) {
      ctx.io.note(
        `It was the current context: commands without --context now go to ${ctx.system.env.TAPCHIP_URL || defaultUrl}.`,
      )
    }
    ctx.io.hint('See what is left: tapchip context list')
  },
})

export const verbs = [list, show, create, use, remove]
