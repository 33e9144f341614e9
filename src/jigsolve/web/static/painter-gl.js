// Paints pieces with WebGL: one texture of all pieces, two triangles a piece; the graphics processor moves them.
// Instances would be shorter, but drivers that draw in software take each for a drawing of its own: ten times slower.

import { ARC, LIFT, SPREAD } from "./motion.js";

const VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec2 corner;
layout(location = 1) in float piece;
layout(location = 2) in vec4 way;
layout(location = 3) in float delay;
uniform float time, gap, shadow;
uniform vec2 frame, scale, offset, texel;
out vec2 place, inside;
flat out vec4 bounds;
flat out float lifted;
void main() {
  float linear = clamp(time * ${(1 + SPREAD).toFixed(3)} - delay * ${SPREAD.toFixed(3)}, 0.0, 1.0);
  float back = -2.0 * linear + 2.0;
  float share = linear < 0.5 ? 4.0 * linear * linear * linear : 1.0 - back * back * back / 2.0;
  vec2 path = way.zw - way.xy;
  float swing = dot(path, path) > 1e-8 ? sin(3.14159265 * share) : 0.0;
  vec2 at = way.xy + path * share + vec2(-path.y, path.x) * ${ARC.toFixed(3)} * swing;
  float size = 1.0 - gap + ${LIFT.toFixed(3)} * swing;
  if (shadow > 0.0) { size += 0.22 * swing; at += vec2(0.1, 0.2) * swing; }
  vec2 position = (at + 0.5 + (corner - 0.5) * size) * scale + offset;
  gl_Position = vec4(position.x * 2.0 - 1.0, 1.0 - position.y * 2.0, 0.0, 1.0);
  vec2 home = vec2(mod(piece, frame.x), floor(piece / frame.x));
  place = (home + corner) / frame;
  bounds = vec4(home / frame + texel, (home + 1.0) / frame - texel);
  inside = corner;
  lifted = swing;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec2 place, inside;
flat in vec4 bounds;
flat in float lifted;
uniform float shadow;
uniform sampler2D pieces;
out vec4 colour;
void main() {
  if (shadow > 0.0) {
    vec2 edge = smoothstep(0.0, 0.22, inside) * smoothstep(0.0, 0.22, 1.0 - inside);
    colour = vec4(0.0, 0.0, 0.0, 0.38 * lifted * edge.x * edge.y);
  } else {
    colour = texture(pieces, clamp(place, bounds.xy, bounds.zw));
  }
}`;

const FLOATS = 8; // Corner, piece, way and delay.
const CORNERS = [0, 1, 2, 2, 1, 3];
const LEAST_SHADOW_CELL = 14; // Device pixels below which nobody sees a shadow.
const MOST_LEVEL = 2; // Of smaller copies of the texture. Beyond it, pieces would run into each other.

// Whether there is a graphics processor. Where WebGL is itself drawn in software, painting without it is quicker.
export function hasGraphics() {
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export class GlPainter {
  constructor(canvas) {
    const options = { alpha: true, antialias: false, depth: false, premultipliedAlpha: true };
    this.gl = canvas.getContext("webgl2", options);
    if (!this.gl) throw new Error("no WebGL");
    this.canvas = canvas;
    this.kind = "webgl";
    this.build();
  }

  build() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "no shaders");
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(
      ["time", "gap", "shadow", "frame", "scale", "offset", "texel"].map((name) => [name, gl.getUniformLocation(program, name)]),
    );
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
    this.pieces = this.cells();
    this.whole = this.cells();
  }

  // A vertex array of its own, and room for what each corner of each piece has to know.
  cells() {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    [[0, 2, 0], [1, 1, 2], [2, 4, 3], [3, 1, 7]].forEach(([location, size, offset]) => {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 4 * FLOATS, 4 * offset);
    });
    const indices = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices);
    return { array, buffer, count: 0 };
  }

  // `describe` returns the number, way and delay of a piece: six numbers.
  upload(cells, count, describe) {
    const { gl } = this;
    const data = new Float32Array(4 * FLOATS * count);
    for (let index = 0, at = 0; index < count; index++) {
      const piece = describe(index);
      for (let corner = 0; corner < 4; corner++, at += FLOATS) {
        data[at] = corner & 1;
        data[at + 1] = corner >> 1;
        for (let field = 0; field < 6; field++) data[at + 2 + field] = piece[field];
      }
    }
    gl.bindVertexArray(cells.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, cells.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    if (cells.count === count) return;
    cells.count = count;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from({ length: 6 * count }, (_, at) => 4 * Math.floor(at / 6) + CORNERS[at % 6]), gl.STATIC_DRAW);
  }

  texture(image) {
    const { gl } = this;
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE);
    const source = image.width > most || image.height > most ? shrunk(image, most) : image;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, source);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    gl.texParameterf(gl.TEXTURE_2D, gl.TEXTURE_MAX_LOD, MOST_LEVEL);
    gl.generateMipmap(gl.TEXTURE_2D);
    return { texture, width: source.width, height: source.height };
  }

  load(image, motion) {
    this.motion = motion;
    this.atlas = this.texture(image);
    this.aim();
  }

  loadOriginal(image) {
    this.original = this.texture(image);
  }

  // Tell the graphics processor where the pieces come from and where they go.
  aim() {
    const { from, to, delay, order, count } = this.motion;
    const piece = new Float32Array(6);
    this.upload(this.pieces, count, (index) => {
      const number = order[index];
      piece[0] = number;
      piece[1] = from[2 * number];
      piece[2] = from[2 * number + 1];
      piece[3] = to[2 * number];
      piece[4] = to[2 * number + 1];
      piece[5] = delay[number];
      return piece;
    });
  }

  // `view`: where cell (0, 0) begins and how large a cell is, in device pixels.
  paint(time, view, gap, compare) {
    const { gl, canvas, motion, uniforms } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!motion) return;
    gl.uniform1f(uniforms.time, time);
    gl.uniform1f(uniforms.gap, gap);
    gl.uniform2f(uniforms.frame, motion.columns, motion.rows);
    gl.uniform2f(uniforms.scale, view.cellWidth / canvas.width, view.cellHeight / canvas.height);
    gl.uniform2f(uniforms.offset, view.x / canvas.width, view.y / canvas.height);
    const level = Math.max(0, Math.min(MOST_LEVEL, Math.log2(this.atlas.width / motion.columns / view.cellWidth)));
    const inset = 0.5 * 2 ** level;
    gl.uniform2f(uniforms.texel, inset / this.atlas.width, inset / this.atlas.height);
    gl.bindTexture(gl.TEXTURE_2D, this.atlas.texture);
    const still = motion.count - motion.moving;
    this.draw(this.pieces, 0, still, 0);
    if (time < 1 && motion.moving && view.cellWidth >= LEAST_SHADOW_CELL) this.draw(this.pieces, still, motion.moving, 1);
    this.draw(this.pieces, still, motion.moving, 0);
    if (compare > 0 && this.original) this.paintOriginal(view, compare);
  }

  draw({ array }, first, count, shadow) {
    const { gl, uniforms } = this;
    if (!count) return;
    gl.uniform1f(uniforms.shadow, shadow);
    gl.bindVertexArray(array);
    gl.drawElements(gl.TRIANGLES, 6 * count, gl.UNSIGNED_INT, 4 * 6 * first);
  }

  // The original is a puzzle of one piece; what is to be seen of it is cut out by scissors.
  paintOriginal(view, compare) {
    const { gl, canvas, motion, uniforms } = this;
    if (!this.whole.count) this.upload(this.whole, 1, () => [0, 0, 0, 0, 0, 0]);
    gl.uniform1f(uniforms.gap, 0);
    gl.uniform2f(uniforms.frame, 1, 1);
    gl.uniform2f(uniforms.scale, (view.cellWidth * motion.columns) / canvas.width, (view.cellHeight * motion.rows) / canvas.height);
    gl.bindTexture(gl.TEXTURE_2D, this.original.texture);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, 0, Math.max(0, Math.round(view.x + view.cellWidth * motion.columns * compare)), canvas.height);
    this.draw(this.whole, 0, 1, 0);
    gl.disable(gl.SCISSOR_TEST);
  }
}

function shrunk(image, most) {
  const scale = most / Math.max(image.width, image.height);
  const canvas = new OffscreenCanvas(Math.floor(image.width * scale), Math.floor(image.height * scale));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}
