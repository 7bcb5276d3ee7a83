//go:build race

package codec_test

// detector is what the race detector lets an encoder take more.
const detector = 1
