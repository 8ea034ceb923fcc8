export const indexTitle = 'The tap page in every state'

/** All states side by side, each as wide as a phone. @param pages names and statuses are the daemon's own, so they need no escaping */
export const indexPage = (pages: readonly { readonly state: string; readonly status: number }[]): string => {
  const frames = pages.map(({ state, status }) => {
    const file = `${encodeURIComponent(state)}.html`
    return `<figure><figcaption><a href="${file}">${shown(state)}</a> ${Number(status)}</figcaption><iframe src="${file}" sandbox loading="lazy" title="${shown(state)}"></iframe></figure>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${indexTitle}</title>
<style>
:root{color-scheme:light dark}
body{margin:1.5rem;font:1rem/1.5 system-ui,sans-serif;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(390px,100%),1fr));gap:2rem}
h1{grid-column:1/-1;margin:0;font-size:1.3rem}
figure{margin:0}
iframe{width:100%;height:844px;border:1px solid GrayText;border-radius:1rem}
</style>
</head>
<body>
<h1>${indexTitle}</h1>
${frames.join('\n')}
</body>
</html>
`
}

const shown = (text: string): string => text.replace(/[^\w -]/g, '')
