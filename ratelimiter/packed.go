package ratelimiter

import "strings"

// width is how many bytes a number takes in a bucket's state, the highest first.
const width = 7

// pack writes numbers of less than 2^55 as they stand there.
func pack(numbers ...int64) string {
	var text strings.Builder
	text.Grow(width * len(numbers))
	for _, n := range numbers {
		for shift := 8 * (width - 1); shift >= 0; shift -= 8 {
			text.WriteByte(byte(n >> shift))
		}
	}
	return text.String()
}

// unpack reads the number at a place.
func unpack(text string, place int) int64 {
	text = text[width*place : width*(place+1)]
	n := int64(int8(text[0]))
	for i := 1; i < width; i++ {
		n = n<<8 | int64(text[i])
	}
	return n
}
