package csi
