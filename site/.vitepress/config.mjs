import { readdirSync, readFileSync } from 'node:fs'
import { posix, resolve } from 'node:path'
import { defineConfig } from 'vitepress'

const root = resolve(import.meta.dirname, '../..')

/** Groups of links in the sidebar: the list under the heading "Documentation" of the README. */
function sidebarOf(readme) {
  const [, list = ''] = readme.split('\n## Documentation\n')
  return [...list.matchAll(/^- \*\*([^*]+):\*\*(.*?)(?=^- |^$)/gms)].map(([, text, links]) => ({
    text,
    collapsed: false,
    items: [...links.matchAll(/\[([^\]]+)\]\(([^)]+)\.md\)/g)].map(([, name, page]) => ({
      text: (name[0].toUpperCase() + name.slice(1)).replace(/\s+/g, ' '),
      link: `/${page}`,
    })),
  }))
}

/** Fails if the sidebar does not lead to every page. */
function requireAllPages(sidebar) {
  const links = sidebar.flatMap(({ items }) => items.map(({ link }) => `${link.slice(1)}.md`))
  const inDocs = readdirSync(resolve(root, 'docs'), { recursive: true }).filter((file) => file.endsWith('.md'))
  const pages = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...inDocs.map((file) => `docs/${file}`)]
  const missing = pages.filter((page) => !links.includes(page))
  if (missing.length > 0) throw new Error(`the list "Documentation" of README.md has no link to ${missing.join(', ')}`)
}

/** The id of a heading, as GitHub generates it: the links between the pages use these ids. */
const idOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Changes how Markdown is rendered where the site differs from GitHub. */
function adaptRendering({ renderer: { rules } }) {
  const { code_inline: renderCode, link_open: renderLink } = rules
  // Vue evaluates `{{ … }}`, in code too.
  rules.code_inline = (tokens, index, ...others) => {
    tokens[index].attrSet('v-pre', '')
    return renderCode(tokens, index, ...others)
  }
  // Indented code gets the frame and the scroll bar of a fenced block.
  rules.code_block = (...args) => rules.fence(...args)
  // The README is the first page of the site.
  rules.link_open = (tokens, index, options, env, self) => {
    const [path = '', heading] = (tokens[index].attrGet('href') ?? '').split('#')
    const target = posix.join(posix.dirname(env.relativePath), path)
    if (path !== '' && target === 'README.md')
      tokens[index].attrSet('href', heading === undefined ? '/' : `/#${heading}`)
    return renderLink(tokens, index, options, env, self)
  }
}

const sidebar = sidebarOf(readFileSync(resolve(root, 'README.md'), 'utf8'))
requireAllPages(sidebar)

export default defineConfig({
  title: 'typeorm-resources',
  description: 'A REST service for TypeORM entities',
  lang: 'en',
  srcDir: '..',
  srcExclude: ['bench/**', 'explorer/**', 'packages/**', 'sample/**', 'src/**', 'test/**'],
  outDir: 'dist',
  rewrites: { 'README.md': 'index.md' },
  // Other links that lead to no page end the build. These are addresses of a site that the reader has started.
  ignoreDeadLinks: 'localhostLinks',
  markdown: { anchor: { slugify: idOf }, config: adaptRendering },
  themeConfig: { sidebar, outline: [2, 3], search: { provider: 'local' } },
})
