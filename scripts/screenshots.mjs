import { chromium } from 'playwright-core'

// Takes the screenshots for the README. Start the sample with `npm run sample` first.
// Usage: node scripts/screenshots.mjs [http://127.0.0.1:3000]
const origin = process.argv[2] ?? 'http://127.0.0.1:3000'
const pictures = [
  {
    file: 'explorer-list.png',
    hash: '#/city?country__region=Europe&ordering=-population&limit=10',
    options: { viewport: { width: 1180, height: 760 }, colorScheme: 'light' },
  },
  {
    file: 'explorer-form.png',
    hash: '#/visit/+?city_id=2267057',
    options: { viewport: { width: 420, height: 780 }, colorScheme: 'dark' },
    refused: true,
  },
]

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
for (const { file, hash, options, refused = false } of pictures) {
  const page = await (await browser.newContext({ ...options, deviceScaleFactor: 2 })).newPage()
  await page.goto(`${origin}/api/${hash}`)
  if (refused) {
    await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('User name').fill('bob')
    await page.getByLabel('Password').fill('bob-secret')
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByLabel('rating').fill('many')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').scrollIntoViewIfNeeded()
    await page.mouse.wheel(0, 150)
    await page.waitForTimeout(300)
  }
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: new URL(`../docs/images/${file}`, import.meta.url).pathname })
}
await browser.close()
