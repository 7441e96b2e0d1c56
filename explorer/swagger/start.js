// Swagger UI's own script stands before this one, in the page of src/site/docs.ts.
if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.classList.add('dark-mode')
window.SwaggerUIBundle({ url: `${document.body.dataset.root}/openapi.json`, dom_id: '#docs', deepLinking: true })
