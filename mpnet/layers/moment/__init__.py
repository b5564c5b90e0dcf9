"""Moment propagation: every layer maps a mean and a variance to a mean and a variance.

The layers have the names and main arguments of torch.nn, take tensors (no variance) or `Moments`,
and are composed by `torch.nn.Sequential`. `from_torch` turns a deterministic network into its
moment twin.
"""

from mpnet.layers.moment import functions as functions
from mpnet.layers.moment.activation import GELU as GELU
from mpnet.layers.moment.activation import GaussianReLU as GaussianReLU
from mpnet.layers.moment.activation import LeakyReLU as LeakyReLU
from mpnet.layers.moment.activation import ReLU as ReLU
from mpnet.layers.moment.activation import Sigmoid as Sigmoid
from mpnet.layers.moment.activation import SiLU as SiLU
from mpnet.layers.moment.activation import Tanh as Tanh
from mpnet.layers.moment.batchnorm import BatchNorm1d as BatchNorm1d
from mpnet.layers.moment.batchnorm import BatchNorm2d as BatchNorm2d
from mpnet.layers.moment.conv import Conv2d as Conv2d
from mpnet.layers.moment.convert import from_torch as from_torch
from mpnet.layers.moment.dropout import Dropout as Dropout
from mpnet.layers.moment.family import MomentLayers as MomentLayers
from mpnet.layers.moment.likelihood import ExpectedSoftmax as ExpectedSoftmax
from mpnet.layers.moment.likelihood import Gaussian as Gaussian
from mpnet.layers.moment.likelihood import TightSoftmax as TightSoftmax
from mpnet.layers.moment.linear import Linear as Linear
from mpnet.layers.moment.moments import Moments as Moments
from mpnet.layers.moment.moments import validation as validation
from mpnet.layers.moment.parameter import GaussianParameter as GaussianParameter
from mpnet.layers.moment.parameter import add_kl_gradient as add_kl_gradient
from mpnet.layers.moment.parameter import by_member as by_member
from mpnet.layers.moment.parameter import gaussian_parameters as gaussian_parameters
from mpnet.layers.moment.parameter import natural_step as natural_step
from mpnet.layers.moment.parameter import shared_variances as shared_variances
from mpnet.layers.moment.parameter import total_kl as total_kl
from mpnet.layers.moment.pool import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from mpnet.layers.moment.pool import AvgPool2d as AvgPool2d
from mpnet.layers.moment.pool import MaxPool2d as MaxPool2d
from mpnet.layers.moment.shape import Flatten as Flatten
from mpnet.layers.moment.shape import Residual as Residual
from mpnet.layers.moment.softmax import Softmax as Softmax
