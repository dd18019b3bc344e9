import { brotliDecompressSync } from 'node:zlib'

const unpacked = (...base64: string[]): Buffer => brotliDecompressSync(Buffer.from(base64.join(''), 'base64'))

/** Returns a UDF image without an ISO 9660 part, created by genisoimage. Its file A.GZ contains the EICAR string four times. */
export const udf = (): Buffer =>
  unpacked(
    'W/8XHVHJeQzqZ2HsTLsKYyTC0eZMV8s3u7/XIAXCCNFLBB/7/W/PecLFTJNZ8y+0TyO5NtFISAxJrIsmMU14Mqvm3ChAG5kUZGfuvkCKSAE6Zl1Wrh2Qc7W8',
    'JiOAfk8AS+w4hzDE/AMc0rjxGpOypRvTRQtpLoIujcKrMMJ8AYVReSQLKM1g7d/YGMhh2TFHY1s4BSJIHbtvGHDr5oCJTm9BhdahD3TvAKxvzj69kCGWGKp9',
    'brNBIv2Xe03z/2buF0C5iId0FHn4a7gAKGriZDKElAKBYsJ0CnNUJCheI6ZYPvZobV6zlfnnq9YPB8P6oXpbJAfg4QcqTqTVF1nv0MruB0OWTnfL834QB26k',
    '6JTK0gPsG/s1PAQMqc0X3XpnVITg0CMjVb66ipq4PdKNHFP7PseIymwXsbfHcXxIBHLodYFcmZbhXQYiaJZir1jxeb8q3cWm+/Hoi1LzfleBIa9hzX6MDcPm',
    '/m+85XB3ATJKQCsAoIp4KzEcwFZMBVG9ZKOfQL2RdArL7EI/lNUPtz4BFFIv8DWC8W4SUhfM/38NOv3/87KTcT4UO3On2AVvi30sF4p9HKMetD4BRI1ofHib',
    'wZL+DVNPS39eBQB6mzkijNjnLvm+H8BAICMje7J59V1+wPpeUEgTwdfIqL/YeUo3EA+/BgI76QU7GcWZjNQdj+d/jWlp8HN/SUkggKn/71J++ss2ZxXk4Kcx',
    'nPxT31tzIf0BX2MWPrg84/RUIn3CrnPHJKCMoAyMyv8Gfu2ImKxG7LTbYJB3D2ZMj4fDACxQAxq+V4HlwotI1zFn5KCE0ISC3GzBUfjUv9sEFeX3ml0JKKaN',
    'KA1Q1zT/Z1sMrr5YurxSlanvVo+CBiupxJDBDaCJIdc1CQ783wC+vEV7ABCIJu3/gT6ahNteBRS2f1rvGCZBxAbTY5CmCzdtABpG21L9UsDzp9Psv/a6574C',
    'ZGnfKJNfXWP+upXNdk/Yo+7eS+NvF78b2XB7EDnR9mvtrdkds1U/1xybrb59/dnUZjwbwOYPTM1b3L7++Kld8+3W71sLz4fajn5zQGb7HlntmMKqn/+fBrBd',
    '6yC7E8BO+i92MLvFDmGv2KHsFzuMg2KHc1jsCI6KHclxsaM4KXY0p8WO4azYsZwXO46LYsdzWewEroqdyHWxk7gpdjK3xU7hrtip3Bc7jYdip/NY7Axsxc7k',
    'qdhZPBc7m5di5/Ba7Fzeip3He7Hz+Sh2AZ/FLuSr2EV8F7uYn2KX8FvsUv6KXcZ/scuxK3YF9sWuBFDsKhyKXY1jsWtwKnYtzsWuw6XY9bgWuwG3YjcCLHYT',
    '7sVuBlTsFsDFbgVS7B5Ai90TWLF7AS92bxDF7gOy2H1BFbsf6GL3B1PsAWCLPRBcsQeBL/ZgCMUeArHYQyEVexjkYg+HUuwRUIs9ElqxR0Ev9mgYxR4Ds9hj',
    'YRV7HOxij4dT7Alwiz0RXrEnwS/2ZATFnoKw2FMRFXsa4mJPR1LsGUiLPRNZsWchL/ZsFMWeg7LYc1EVex7qYs9HU+wFaIu9EF2xF6Ev9mIMxV6CsdhLMRV7',
    'GeZiL8dS7BVYi70Sj2KvwrPYq/Eq9hq8i70Wn2Kvw7fY6/Er9gb8i72RgGJvIrDYmwkq9haCi72VkGJvI7TY2wkr9g7Ci72TiGLvIrLYu4kq9h6ii72XmGLv',
    'I7bY+4kr9gHii32QhGIfIrHYh0kq9hGSi32UlGIfI7XYx0kr9gnSi32SjGKfIrPYp8kq9hmyi32WnGKfI7fY58kr9gXyi32RgmJforDYlykq9hWKi32VkmJf',
    'o7TY1ykr9g3Ki32TilrfAg==',
  )

/** Returns compiled HTML help, created by Free Pascal's chmcmd. Its page contains the LZX-compressed EICAR string. */
export const chm = (): Buffer =>
  unpacked(
    'GwgpUdRkwYqDfCTGzqOllNIfzah0zliQgod/vfcm+dL0ayau+FIKZ6+HTXMHaJsdVuAMrILXBVZh/ZiNFYGBEbVWjHfqSrY2q14xyrLl9Dd38v/BWYwApS9z',
    'LL2q0uI5RXW2SmTpvguL9eANDiElXqJDNrsBK3frZfaMj3UqwDIgAcrT5ylA+9EdKPxL2DBtIRVQ3MO7uW9CQgGizFVGCDNMGP3sXmLkTxgAVNXHDXSJQUNT',
    'oQgCpkIAK/iQGaDOkA64fxFYCfIM0xZc9UXIkGPUlIa1VDVnqSVJv0LSAQAgE4KqK5mqKemD3hAW14cM3ywZPcbr6HczV0CVhCCa98cIt4EYsmIP1wnTQWrs',
    'MjAEAa8VqYVsoDbvXpzUUq4MAjxlUiG7eSgAIleVGBAISJWY4UKq9dkXqK0xvs8aS0l0IyhJHxgTRwebrqg+hRfGr5kRgfPTTAi++fjR2ctSwOAwh3N+9/oC',
    'uh9OFtIHgUt5aqx46Yy7mk5h1dY5hlrn2qZqmm71A+1WjWoYbYaoMzvqRI140BF8aPMn68BORwQQUqDfvosFAPzc1JJ1/UnRqMQ5P0TnQggbM3qqOzUwdk0G',
    'iAiohcLXW0unZaXnB2X3U/C//DtEAJVID6/c+EEqOctd2z7AkhRtzQpT0dAhamJn3wF/h+geEAfrxHsUIISH/88nJUiS7u420EfB0WoKy66tMSw8FOLUZfyc',
    'avgN9gAABZlx/HgAiEJivGBsQAIk9HedjUyECQ5Z44gDjjllgzPO2GAdiDDAGIJ60gf0z04LGUjpTIKJJ+M5d9TQicCiljocDFTqcLExUTExcTHklYBRKgG8',
    '+HTXZz/lz6AFcr2cTICXEvN5G/7Ug87R2kyjM6uLhXdAvdSe18yc7OFQpcZgWW5p5GTlu2Gc58/PM/16ek6q4zQTfKwC8PynCz/MUK3oD3vIzox8FsAeQBiq',
    'ayQBBMpy2LKwgBIghukd7ll0yUgtkuidQ7ee37JvS6tRygc40SvBB3/3JQAAAABVuiSZLWhH6qhques1sG7ROAVVIhLmzDrtsh4b6JCtfKHuaEl/jBnMlJ7g',
    'kvPIi4D825gQzB8ddIej+mT0bqUt5JCEamzNdoLuq+95xdd/a/tyyctrK0qim+dTt7awRW3GsB8Ezmr2JI7KsGfDqSnGAAcR2jfRxcXV1VPe8Vl8Jh3CVzn+',
    'WXImLwKtXPrsRyYra5gM+INjRgyablQXob6zDKH7botI2ZHmWEcXZ8Yi9FXVOb5AP4Ftcq4ovkIrwHeN5HuPwhhNu60hjG5v6Shn+jpj8b/2im2MaSqrzowl',
    '70FBPb+GG+Dwap6viOG7VbDAl/pQskuaC9Ro8fO/ulVlD1Nn+9ElFFect0IbhoIbOe0aYWr9uafrD+jk9YrxZCIcLAWGc0xRwqWm51jBoc5v0TakiijXpOZf',
    '7sMXbw5urWs5Wvp8k1arhP/AgrOT3/7d3eePoeo0YHZ7dWDZ9+bSzko9jzUzr6AfN1GBOzu3WGJjc6bZ156dDZq9Gfe6ma0sDT44HBiI7DrWXlwMWTwSBwuS',
    'gnWyq5pxFu+6WnT8/OT8glcjvi42wkKxS1isWtZNfn7+5fvLz5naSZkGLtVtgpY/SIHPu7thu9kag4Jdg/q+HXj6tM8Nsqt1daBCiM7KyvGyzRcpwRS2JzOY',
    'CAymV06icKNXzr/wekx2aixZ/LAZVUPa/SuI5xS++K6+Qt4WAL/Ouhg7WwI9pgun83/6LAP6/nV89nBBf864lk3Ombaz2r6OF6yJXx4WzK8IC/n4HIbhV6Nb',
    'pudTP06hT1lUZ6Bron8CizLwSznepXIMoUgjytZIg2UTJzkK/U1CyhEoPSmE8K6gcnlG3/YqiRRG8LLrlNaQaqGykwZ+5epewZuW61EYhJA551DfPfHtw8AK',
    'A5EQ5NEntK8LOn6QDybpQxYhbCvAtp1DGDcUk+VC9snMVEyGYI+N9Yddu8IKD91uKcBI5UJ5/9uWovAKiYfyVphFf9Yq5buPieVmt2v9qUDVxiQovQmJ6Ya0',
    '4oUEUcu0qXk5AlZc2q0XUpLlWiqIzMySElt5z+mXkgbqLvhw8YpwHdw3BWReIvI83m7t+phLvlgmfXpdNR6CnW7XXOmyZGzPFB1dQPxyFzCXYZp2NKpwFLL2',
    'fIDvN3x1HjQSty/CQtanK7znxT3agrAY6dIBNr+no/15uWYNedPGxp7e0AsUSi7AE48I0tN/wdSHEl2vIx3MDzMrHxHlC7hia87ichkMp3khqcgTpbAIK4oi',
    'MCACvXfDvEei3fNSPOTafz1nlxH3dj6ROctS+yB1t919DZ8RfD0mHBKAuaXegO9gmwo9zbX/Nz3jk79rz4ReiTp5Y09FehMxG6JhlZ4iFkrvfl2FX6EP267E',
    'nE252Ibfi42U+eflBIh/3N8/P1s3iMJrKc7mGR3MFkG8xM+JWYMDrm8qGiEMykjNvYn+LY1l7tLdOrGmCHl+MvLv39XUo75Vem2vh0lpN/olGVcHxJnU1Cob',
    'LQxbN9zz6X24s20ufVr1+GhuFCvls5NaF4ye4JitpQCHRxD/NctkjbAvZ3R3N/nSYnS7/HNrqenrV9/lSUgr0mMsFPNm2rLOo6ESvza19JPtfQiZdiRrpzkL',
    'o5wVudKrOiSnnBW1ZumWDox6dd2yjpbvj5WR4ZJkAqWfCSPT5jdR0cB8Do46rYwMjElbYsOzrKyoMhV8qQ8EtrrEIEI1z6EAtqbj//udF0r+HfYyzqotaWds',
    'dWJQ++Drz9V5wydmEf9Y91sLiElqsZwe6rM3XOweXdghzmmyT8xy8BcnhDZ0hDf39zChm5flU6mf9tI9FIvE+jg6H7pfvO//tvRF3gmfFO3gxRkE1iadrBxr',
    '+V3rfaGTlSaZI3844t7n7j77a/J7p2Q5HgfuF5Qx/SHhEWjr1rG+0jDRMLOQVvbb4Q3jxWQfYwbx97o97+l3uILgBwXmeGEynkdInngkWfyj6tQxDw==',
  )
