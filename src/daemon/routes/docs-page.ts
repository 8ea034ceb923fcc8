import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import { limited } from '../http/bind.ts'

const near = createRequire(import.meta.url)

/** Beside the bundle, where the build copies it, or else in the package that it is copied from. */
function fileOf(name: string): string {
  try {
    return near.resolve(`./swagger-ui/${name}`)
  } catch {
    return near.resolve(`swagger-ui-dist/${name}`)
  }
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tapchip: the interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/start.js" defer></script>
</head>
<body>
<main id="interface"></main>
<noscript>This page needs JavaScript. The same is in <a href="/openapi.json">openapi.json</a>.</noscript>
</body>
</html>
`

// The validator is disabled, because it is an external service. Requests go to the page's own origin: the
// document names the base URL, which may be another address of the same daemon.
const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  displayOperationId: true,
  validatorUrl: null,
  responseInterceptor: (response) => {
    if (!response.url.endsWith('/openapi.json')) return response
    const document = { ...JSON.parse(response.text), servers: [{ url: location.origin }] }
    return Object.assign(response, { text: JSON.stringify(document), data: JSON.stringify(document), body: document, obj: document })
  },
})
`

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The interface's documentation for people: /openapi.json, rendered by files of the daemon. */
export function docsPageRoutes(app: FastifyInstance): void {
  const serve = (url: string, type: string, read: () => Promise<string | Buffer> | string) =>
    app.get(url, { config: limited, exposeHeadRoute: true }, async (_request, reply) =>
      reply
        .header('content-security-policy', policy)
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer')
        .header('cache-control', 'no-cache')
        .type(`${type}; charset=utf-8`)
        .send(await read()),
    )
  serve('/docs', 'text/html', () => page)
  serve('/docs/start.js', 'text/javascript', () => start)
  for (const [name, type] of [
    ['swagger-ui.css', 'text/css'],
    ['swagger-ui-bundle.js', 'text/javascript'],
  ] as const)
    serve(`/docs/${name}`, type, () => readFile(fileOf(name)))
}
