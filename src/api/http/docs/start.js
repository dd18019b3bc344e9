// A separate file, because the page's Content Security Policy forbids inline scripts.
window.SwaggerUIBundle({
  url: 'api/v1/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  filter: true,
  // Discard entered API keys when the tab is closed.
  persistAuthorization: false,
  presets: [window.SwaggerUIBundle.presets.apis],
})
