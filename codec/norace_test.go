//go:build !race

package codec_test

// detector is what the race detector would let an encoder take more.
const detector = 0
