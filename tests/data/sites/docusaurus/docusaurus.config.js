// The options are in the forms that real sites use.
const path = require('path');
const docs = {path: './docs', routeBasePath: '/manual/', sidebarPath: false};
/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'Sample',
  url: 'https://x.org',
  baseUrl: '/',
  onBrokenLinks: 'ignore',
  onBrokenAnchors: 'ignore',
  presets: [['classic', {docs, blog: false, pages: false, theme: {}}]],
};
module.exports = config;
